# SPDX-License-Identifier: GPL-3.0-or-later
# docker build -f packaging/docker/cpu.Dockerfile -t gr-cudaphy .
# docker run --rm gr-cudaphy cudaphy_info
FROM debian:13-slim AS build
ENV DEBIAN_FRONTEND=noninteractive
RUN apt-get update && apt-get install -y --no-install-recommends \
    ca-certificates cmake g++ gnuradio gnuradio-dev libhwy-dev libtbb-dev \
    ninja-build pkg-config pybind11-dev python3-matplotlib python3-numpy python3-scipy python3-tqdm
COPY . /source
RUN cmake -S /source -B /build -G Ninja -DCMAKE_INSTALL_PREFIX=/usr -DENABLE_CUDA=OFF \
    -DENABLE_TESTING=OFF && cmake --build /build && DESTDIR=/installed cmake --install /build

FROM debian:13-slim
ENV DEBIAN_FRONTEND=noninteractive MPLBACKEND=Agg
RUN apt-get update && apt-get install -y --no-install-recommends \
    gnuradio libhwy1t64 libtbb12 python3-matplotlib python3-numpy python3-scipy \
    python3-tqdm && rm -rf /var/lib/apt/lists/*
COPY --from=build /installed /
RUN ldconfig && useradd --create-home user && cudaphy_info --no-test
USER user
WORKDIR /home/user
CMD ["cudaphy_info"]
