# SPDX-License-Identifier: GPL-3.0-or-later
"""Who sends a cell of 5G NR: the identities in SIB1 (3GPP TS 38.331, 6.2.2 and 6.3.2), in unaligned PER.

All else of SIB1 is left to Wireshark or an ASN.1 compiler.
"""


class _Bits:
    """Reads a PER encoding (ITU-T X.691, unaligned) from its first bit on."""

    def __init__(self, data):
        self.bits = "".join(f"{byte:08b}" for byte in data)
        self.at = 0

    def take(self, count):
        if self.at + count > len(self.bits):
            raise ValueError("SIB1 ends within a field")
        self.at += count
        return int(self.bits[self.at - count : self.at] or "0", 2)

    def optional(self, count):
        """The bits that say which optional fields there are."""
        return [self.take(1) for _ in range(count)]

    def skip_extensions(self):
        """Additions behind a sequence's fields (X.691, 19.7 to 19.9): short ones alone occur here."""
        if self.take(1):
            raise ValueError("SIB1 has more than 64 extensions")
        present = self.optional(self.take(6) + 1)
        for _ in range(sum(present)):
            if self.take(1):
                raise ValueError("SIB1 has an extension of 128 bytes or more")
            self.take(8 * self.take(7))


def _digits(bits, count):
    digits = [bits.take(4) for _ in range(count)]
    if max(digits) > 9:
        raise ValueError("SIB1 has a PLMN identity with a digit above 9")
    return "".join(map(str, digits))


def _plmns(bits):
    """PLMN identities; one without country has that of the one before."""
    out, country = [], None
    for _ in range(bits.take(4) + 1):
        if bits.take(1):
            country = _digits(bits, 3)
        network = _digits(bits, 2 + bits.take(1))
        if country is None:
            raise ValueError("SIB1 has a first PLMN identity without country code")
        out.append(f"{country}-{network}")
    return out


def _cell_selection(bits):
    offset, level_of_sul, quality, quality_offset = bits.optional(4)
    out = {"q_rx_lev_min": 2 * (bits.take(6) - 70)}
    bits.take(3 * offset + 6 * level_of_sul)
    if quality:
        out["q_qual_min"] = bits.take(5) - 43
    bits.take(3 * quality_offset)
    return out


def _owner(bits):
    extended, has_area, has_ranac = bits.optional(3)
    out = {"plmns": _plmns(bits)}
    out["tracking_area_code"] = bits.take(24) if has_area else None
    bits.take(8 * has_ranac)
    out["cell_identity"] = bits.take(36)
    out["reserved"] = bits.take(1) == 0
    if extended:
        bits.skip_extensions()
    return out


def nr_sib1_identities(data):
    """Identities that a BCCH-DL-SCH-Message with SIB1 begins with (3GPP TS 38.331, 6.2.2).

    data: bytes; padding behind may stay. Returns a dict: "owners", a list with for each network that shares the cell
    "plmns" (MCC-MNC, strings), "tracking_area_code" (24 bits, or None), "cell_identity" (36 bits) and "reserved"
    for the operator (bool); q_rx_lev_min in dBm and q_qual_min in dB if the cell tells them. Raises ValueError if
    the bytes are no SIB1, TypeError if they are no bytes.
    """
    bits = _Bits(memoryview(data).cast("B"))
    if bits.take(2) != 1:
        raise ValueError(
            "the message is no SIB1: BCCH-DL-SCH-Message has another choice (TS 38.331, 6.2.1)"
        )
    has_selection = bits.optional(11)[0]
    out = _cell_selection(bits) if has_selection else {}
    bits.take(2)  # extension and cellReservedForOtherUse of CellAccessRelatedInfo
    out["owners"] = [_owner(bits) for _ in range(bits.take(4) + 1)]
    return out
