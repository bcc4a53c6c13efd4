/// A span of a program's time with a text for players, as a tag of media playlists (RFC 8216 §4.3.2.7).
public struct DateRange: Hashable, Codable, Sendable {
    /// Identifier: printable ASCII without quotation marks, like the attribute and the value.
    public let id: String
    /// Beginning in ms since 1970.
    public let start: Int64
    /// Duration in ms.
    public let duration: Int64
    /// Name of the attribute with the text, such as `X-COM-EXAMPLE-TEXT`.
    public let attribute: String
    public let value: String

    /// Longest text in bytes.
    public static let longestValue = 8192

    /// - Returns: `nil` if a text is not allowed in a playlist, or the time is invalid.
    public init?(id: String, start: Int64, duration: Int64, attribute: String, value: String) {
        guard Self.isQuotable(id, most: 256), Self.isQuotable(value, most: Self.longestValue),
            0...CalendarTime.latest ~= start, 0...CalendarTime.latest - start ~= duration,
            attribute.utf8.starts(with: "X-".utf8), attribute.utf8.count <= 64,
            attribute.utf8.allSatisfy({ 0x41...0x5A ~= $0 || 0x30...0x39 ~= $0 || $0 == UInt8(ascii: "-") })
        else { return nil }
        (self.id, self.start, self.duration, self.attribute, self.value) = (id, start, duration, attribute, value)
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let range = DateRange(
            id: try container.decode(String.self, forKey: .id), start: try container.decode(Int64.self, forKey: .start),
            duration: try container.decode(Int64.self, forKey: .duration),
            attribute: try container.decode(String.self, forKey: .attribute),
            value: try container.decode(String.self, forKey: .value))
        guard let range else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no date range"))
        }
        self = range
    }

    private static func isQuotable(_ text: String, most: Int) -> Bool {
        1...most ~= text.utf8.count && text.utf8.allSatisfy { 0x20...0x7E ~= $0 && $0 != UInt8(ascii: "\"") }
    }

    /// End in ms since 1970.
    public var end: Int64 { start + duration }

    /// The tag with its line feed. The attributes are in the order that 100ms' Android players expect.
    package var text: String {
        let fraction = String(duration % 1000)
        let zeroes = String(repeating: "0", count: 3 - fraction.count)
        return "#EXT-X-DATERANGE:ID=\"\(id)\",START-DATE=\"\(CalendarTime(milliseconds: start))\","
            + "DURATION=\(duration / 1000).\(zeroes)\(fraction),\(attribute)=\"\(value)\"\n"
    }
}
