/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <cstdio>
#include <gnuradio/cudaphy/kernels/inverse.h>

using namespace gr::cudaphy;

//! Inverts two matrices on every backend of this machine, in memory of the queue's own.
int main()
{
    const std::vector<double> matrices{ 2, 1, 1, 1, 1, 2, 2, 4 };
    for (const auto where : backends()) {
        const auto line = queue::make(where);
        const auto kernel = kernels::inverse<double>::make({ 2 }, where);
        const array<double> a(*line, view<const double>(matrices));
        array<double> x(*line, matrices.size()), determinant(*line, 2), rcond(*line, 2);
        array<int> status(*line, 2);
        array<unsigned char> workspace(*line, kernel->workspace_bytes(2));
        kernel->run(a, { x, status, determinant, rcond }, workspace, *line);

        // to_host() waits for the queue.
        const auto inverses = x.to_host();
        for (int item = 0; item < 2; ++item) {
            const double* m = &inverses[4 * item];
            std::printf("%-9s  [%g %g; %g %g]  status %d  determinant %g  rcond %g\n",
                        name_of(where).c_str(),
                        m[0],
                        m[1],
                        m[2],
                        m[3],
                        status.to_host()[item],
                        determinant.to_host()[item],
                        rcond.to_host()[item]);
        }
        // The second matrix has rank 1: its status is 2.
        if (std::abs(inverses[0] - 1) > 1e-12 || std::abs(inverses[3] - 2) > 1e-12 ||
            status.to_host() != std::vector<int>{ 0, 2 }) {
            std::printf("wrong\n");
            return 1;
        }
    }
}
