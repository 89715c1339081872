"""The detectors, one module each. All have the interface of `Detector`."""
