"""Tests of the native engine alone: fastload._native and nothing else of fastload."""
