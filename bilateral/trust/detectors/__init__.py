"""The detectors, a module each. All have the interface of `Detector`."""
