"""Files with which operators run the service: containers, units, proxies, monitors."""
