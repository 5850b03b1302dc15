# SPDX-License-Identifier: GPL-3.0-or-later
# docker build -f packaging/docker/cuda.Dockerfile -t gr-cudaphy:cuda .
# docker run --rm --gpus all gr-cudaphy:cuda cudaphy_info
# --build-arg ARCHITECTURES=86 builds for one kind of GPU alone.
FROM nvidia/cuda:12.6.3-devel-ubuntu24.04 AS build
ARG ARCHITECTURES="75-real;80-real;86-real;89-real;90"
ENV DEBIAN_FRONTEND=noninteractive
RUN apt-get update && apt-get install -y --no-install-recommends \
    ca-certificates cmake g++ gnuradio gnuradio-dev libhwy-dev libtbb-dev \
    ninja-build pkg-config pybind11-dev python3-matplotlib python3-numpy python3-scipy python3-tqdm
COPY . /source
RUN cmake -S /source -B /build -G Ninja -DCMAKE_INSTALL_PREFIX=/usr \
    "-DCMAKE_CUDA_ARCHITECTURES=$ARCHITECTURES" -DENABLE_TESTING=OFF \
    && cmake --build /build && DESTDIR=/installed cmake --install /build

# CUDA's runtime is in the library. The image has cuBLAS and cuSOLVER for large symmetric inverses.
FROM nvidia/cuda:12.6.3-runtime-ubuntu24.04
ENV DEBIAN_FRONTEND=noninteractive MPLBACKEND=Agg NVIDIA_DRIVER_CAPABILITIES=compute,utility
RUN apt-get update && apt-get install -y --no-install-recommends \
    gnuradio libhwy1t64 libtbb12 python3-matplotlib python3-numpy python3-scipy \
    python3-tqdm && rm -rf /var/lib/apt/lists/*
COPY --from=build /installed /
RUN ldconfig && useradd --create-home gnuradio && cudaphy_info --no-test
USER gnuradio
WORKDIR /home/gnuradio
CMD ["cudaphy_info"]
