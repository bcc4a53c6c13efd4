/// Counts the plaintext bytes that have arrived, given the number of ciphertext bytes that have. Pure.
///
/// A write counts once the last byte of its ciphertext has arrived, because no part of a record can be decrypted alone.
/// TLS's own messages are ciphertext without plaintext.
struct TLSProgress: Sendable {
    /// The end of a write, counted from the beginning of the connection.
    private struct Mark {
        var ciphertext: Int64
        var plaintext: Int64
    }

    /// Marks of the writes that have not arrived yet.
    private var marks: [Mark] = []
    private var head = 0
    /// Number of plaintext bytes that have arrived.
    private(set) var arrived: Int64 = 0
    /// Number of plaintext bytes written so far.
    private(set) var written: Int64 = 0

    /// Records a write of `count` plaintext bytes.
    ///
    /// - Parameter end: Number of ciphertext bytes so far, including those of this write.
    mutating func wrote(_ count: Int, endingAt end: Int64) {
        written += Int64(count)
        marks.append(Mark(ciphertext: end, plaintext: written))
    }

    /// Delays the arrival of the last write, if it has not arrived yet, until the ciphertext so far has.
    mutating func extend(to end: Int64) {
        if head < marks.count { marks[marks.count - 1].ciphertext = end }
    }

    /// Records the arrival of ciphertext.
    ///
    /// - Parameter ciphertext: Number of ciphertext bytes that have arrived.
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

    /// Returns the number of plaintext bytes in the writes that lie entirely within `ciphertext` bytes.
    func plaintext(within ciphertext: Int64) -> Int64 {
        var (low, high) = (head, marks.count)
        while low < high {
            let middle = (low + high) / 2
            if marks[middle].ciphertext <= ciphertext { low = middle + 1 } else { high = middle }
        }
        return low == head ? arrived : marks[low - 1].plaintext
    }
}
