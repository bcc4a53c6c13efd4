import TextFormats

/// Names of files derived from names that users have chosen.
public enum FileName {
    /// Length in bytes beyond which a name is cut; a hash of the whole name follows the cut.
    private static let longest = 120

    /// Returns a safe file name. ASCII letters, digits, `-` and `_` stay; every other byte becomes `~` and two
    /// hexadecimal digits. The result is neither a path nor hidden, and different names stay different.
    public static func safe(_ name: String) -> String {
        var result = ""
        for byte in name.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                result.unicodeScalars.append(UnicodeScalar(byte))
            default:
                result += "~" + Hexadecimal.text([byte])
            }
        }
        guard result.utf8.count > longest else { return result.isEmpty ? "~" : result }
        return String(result.prefix(longest)) + "~~" + String(FNV1a.hash(of: name.utf8), radix: 16)
    }

    /// Returns whether the name can be that of a recording's file, as made from `safe` and the number of a part: neither a path
    /// nor hidden.
    public static func isRecording(_ name: String) -> Bool {
        guard name.hasSuffix(".mp4"), name.utf8.count <= 250 else { return false }
        let stem = name.utf8.dropLast(4)
        return !stem.isEmpty
            && stem.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "~"):
                    true
                default: false
                }
            }
    }
}
