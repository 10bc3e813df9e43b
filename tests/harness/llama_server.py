"""Serves a GGUF file by llama.cpp's own server until its input ends: ``python llama_server.py FILE CONTEXT``.

It runs where the package `xllamacpp` is installed, and prints its address once it listens.
"""

from __future__ import annotations

import os
import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.port = sys.argv[1], int(sys.argv[2]), 0
params.n_parallel, params.endpoint_props = 1, True
server = xllamacpp.Server(params)
sys.stdout.write(f"{server.listening_address}\n")
sys.stdout.flush()
sys.stdin.read()
os._exit(0)  # its threads would go on
