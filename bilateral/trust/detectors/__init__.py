"""The detectors of manipulation, one per module. All implement the `Detector` interface."""
