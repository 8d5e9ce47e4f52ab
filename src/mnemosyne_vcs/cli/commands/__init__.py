"""The verbs, one a module, each as `command`."""
