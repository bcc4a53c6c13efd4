"""Media benchmarks: the service beside ffmpeg, from RTMP to RTMP, in one run. `scripts/bench.sh media --help`."""
