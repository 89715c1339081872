"""The detectors, one module each. All implement the `Detector` interface."""
