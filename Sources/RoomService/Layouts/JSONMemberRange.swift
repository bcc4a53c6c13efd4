/// Finds the position of a member in a JSON document, so that its errors can be reported with the lines of the
/// document.
package enum JSONMemberRange {
    /// Returns the range of the value of a key of the outermost object.
    ///
    /// - Parameter bytes: A document that is known to be JSON.
    /// - Returns: Byte range; `nil` when there is no such key, and the last value when the key occurs twice, as
    ///   decoders take it.
    package static func value(of key: String, in bytes: [UInt8]) -> Range<Int>? {
        let wanted = Array("\"\(key)\"".utf8)
        var found: Range<Int>?
        var depth = 0
        var index = 0
        /// Start of the value of the member being read.
        var valueStart: Int?
        func end(at position: Int) {
            guard let start = valueStart else { return }
            found = start..<position
            valueStart = nil
        }
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                let close = endOfString(in: bytes, from: index)
                if depth == 1, valueStart == nil, Array(bytes[index..<close]) == wanted {
                    let colon = firstSolid(in: bytes, from: close)
                    if colon < bytes.count, bytes[colon] == UInt8(ascii: ":") {
                        valueStart = firstSolid(in: bytes, from: colon + 1)
                        index = valueStart ?? index
                        continue
                    }
                }
                index = close
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth == 0 { end(at: index) }
            case UInt8(ascii: ",") where depth == 1: end(at: index)
            default: break
            }
            index += 1
        }
        return found
    }

    /// Returns the document up to the end of the range, blank before the range, so that lines and columns stay the
    /// same.
    package static func isolate(_ range: Range<Int>, in bytes: [UInt8]) -> [UInt8] {
        let blank = bytes[..<range.lowerBound].map { byte in
            byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") ? byte : UInt8(ascii: " ")
        }
        return blank + bytes[range]
    }

    /// Returns the index behind the closing quote.
    private static func endOfString(in bytes: [UInt8], from quote: Int) -> Int {
        var index = quote + 1
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(index + 1, bytes.count)
    }

    private static func firstSolid(in bytes: [UInt8], from start: Int) -> Int {
        bytes[start...].firstIndex { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } ?? bytes.count
    }
}
