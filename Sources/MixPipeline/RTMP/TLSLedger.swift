/// How many bytes of what was written have arrived when so many bytes of ciphertext have. Pure.
///
/// A write counts when the last byte of its ciphertext does: nobody can decrypt a part of a record. What TLS says for itself
/// is ciphertext of no plaintext.
struct TLSLedger: Sendable {
    /// Where a write ends, counted from the beginning of the connection.
    private struct Mark {
        var ciphertext: Int64
        var plaintext: Int64
    }

    /// Of the writes that have not arrived yet.
    private var marks: [Mark] = []
    private var head = 0
    /// Bytes of plaintext that have arrived.
    private(set) var arrived: Int64 = 0
    /// Bytes of plaintext so far.
    private(set) var written: Int64 = 0

    /// - Parameter end: Bytes of ciphertext so far, with those of this write.
    mutating func wrote(_ count: Int, endingAt end: Int64) {
        written += Int64(count)
        marks.append(Mark(ciphertext: end, plaintext: written))
    }

    /// The last write, if it has not arrived yet, does so no sooner than the ciphertext so far.
    mutating func extend(to end: Int64) {
        if head < marks.count { marks[marks.count - 1].ciphertext = end }
    }

    /// - Parameter ciphertext: Bytes of it that have arrived.
    mutating func confirm(_ ciphertext: Int64) {
        while head < marks.count, marks[head].ciphertext <= ciphertext {
            arrived = marks[head].plaintext
            head += 1
        }
        if head == marks.count {
            marks.removeAll(keepingCapacity: true)
            head = 0
        } else if head > 64, head > marks.count / 2 {
            marks.removeFirst(head)
            head = 0
        }
    }

    /// Bytes of plaintext of the writes that `ciphertext` bytes hold whole.
    func plaintext(within ciphertext: Int64) -> Int64 {
        var (low, high) = (head, marks.count)
        while low < high {
            let middle = (low + high) / 2
            if marks[middle].ciphertext <= ciphertext { low = middle + 1 } else { high = middle }
        }
        return low == head ? arrived : marks[low - 1].plaintext
    }
}
