# SPDX-License-Identifier: GPL-3.0-or-later
"""Arrays of antennas."""

import numpy as np


def uniform_array(elements, angle, spacing=0.5):
    """The steering vector of antennas in a line: exp(2 pi j spacing n sin(angle)), n = 0 ... elements - 1.

    elements: 1 or more. angle: degrees from broadside, or an array of them. spacing: wavelengths.
    Returns complex128, (elements,) or (angles, elements).
    """
    sines = np.sin(np.radians(np.asarray(angle, np.float64)))
    phases = 2 * np.pi * spacing * sines[..., None] * np.arange(elements)
    return np.exp(1j * phases)
