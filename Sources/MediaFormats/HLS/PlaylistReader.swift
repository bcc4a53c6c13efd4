import EncodedMedia
import TextFormats

/// Reads the lines of a playlist one after another.
struct PlaylistReader {
    typealias Failure = ReceivedPlaylist.Failure

    /// Largest number of a segment, chosen so that numbering never overflows.
    private static let highest: Int64 = 1 << 62

    private var variants: [ReceivedVariant] = []
    private var variant: ReceivedVariant?
    /// The rendition of each audio group that is played: its rank, and its playlist if it has a separate one.
    private var sounds: [String: (rank: Int, uri: String?)] = [:]
    private var groups: [String?] = []

    private var segments = ReceivedSegments(targetDuration: 0)
    private var first: Int64 = 0
    private var duration: Double?
    private var range: (length: Int64, offset: Int64?)?
    /// Byte after the last range, and its resource, where the next range without an offset continues.
    private var rangeEnd: (uri: String, offset: Int64)?
    private var isDiscontinuity = false
    private var isGap = false
    private var map: ReceivedSegment.Resource?
    private var key: ReceivedSegment.Key?
    /// The reason that segments from here on cannot be read.
    private var unreadable: Failure?

    mutating func read(_ line: String) throws(Failure) {
        guard line.hasPrefix("#") else { return try resource(line) }
        let (tag, value) =
            line.firstIndex(of: ":").map { (line[..<$0], line[line.index(after: $0)...]) } ?? (line[...], "")
        switch tag {
        case "#EXTINF": duration = min(max(0, Double(value.prefix { $0 != "," }.filter { $0 != " " }) ?? 0), 3600)
        case "#EXT-X-BYTERANGE": range = try Self.range(value)
        case "#EXT-X-DISCONTINUITY": isDiscontinuity = true
        case "#EXT-X-GAP": isGap = true
        case "#EXT-X-KEY": try readKey(PlaylistAttributes(value))
        case "#EXT-X-MAP": try readMap(PlaylistAttributes(value))
        case "#EXT-X-TARGETDURATION":
            guard let seconds = Double(value), seconds >= 0 else { throw Failure("has no readable target duration") }
            segments.targetDuration = min(max(1, seconds), 60)
        case "#EXT-X-MEDIA-SEQUENCE":
            guard let number = Int64(value), 0...Self.highest ~= number else {
                throw Failure("has no readable media sequence number")
            }
            first = number
        case "#EXT-X-ENDLIST": segments.isEnded = true
        case "#EXT-X-PLAYLIST-TYPE": segments.isOnDemand = value == "VOD"
        case "#EXT-X-SERVER-CONTROL":
            segments.holdBack = PlaylistAttributes(value)["HOLD-BACK"].flatMap { Double($0) }
                .map { min(max(0, $0), 600) }
        case "#EXT-X-STREAM-INF": readVariant(PlaylistAttributes(value))
        case "#EXT-X-MEDIA":
            readRendition(PlaylistAttributes(value))
        default: break
        }
    }

    /// Reads the reference that completes a segment or a variant.
    private mutating func resource(_ uri: String) throws(Failure) {
        if var variant {
            variant.uri = uri
            variants.append(variant)
            self.variant = nil
            return
        }
        guard let duration else { return }
        if let unreadable { throw unreadable }
        let place = ReceivedSegment.Resource(uri: uri, range: bytes(of: uri), key: key)
        segments.segments.append(
            ReceivedSegment(
                number: first + Int64(segments.segments.count), resource: place, map: map, duration: duration,
                isDiscontinuity: isDiscontinuity, isGap: isGap))
        (self.duration, range, isDiscontinuity, isGap) = (nil, nil, false, false)
    }

    private mutating func bytes(of uri: String) -> Range<Int64>? {
        guard let range else {
            rangeEnd = nil
            return nil
        }
        let continued = rangeEnd.flatMap { $0.uri == uri ? $0.offset : nil } ?? 0
        let start = range.offset ?? continued
        // A long list of contiguous ranges can exceed any number.
        let end = start.saturatingSum(range.length)
        rangeEnd = (uri, end)
        return start..<end
    }

    /// Reads `length[@offset]` (RFC 8216 §4.3.2.2).
    private static func range(_ text: some StringProtocol) throws(Failure) -> (length: Int64, offset: Int64?) {
        let parts = text.split(separator: "@").map { Int64($0) }
        guard 1...2 ~= parts.count, parts.allSatisfy({ $0.map { 0...(1 << 48) ~= $0 } ?? false }),
            let length = parts[0], length > 0
        else { throw Failure("has a byte range that cannot be read") }
        return (length, parts.count == 2 ? parts[1] : nil)
    }

    private mutating func readKey(_ attributes: PlaylistAttributes) throws(Failure) {
        (key, unreadable) = (nil, nil)
        let method = attributes["METHOD"] ?? ""
        if method == "NONE" { return }
        guard method == "AES-128", let uri = attributes["URI"], (attributes["KEYFORMAT"] ?? "identity") == "identity"
        else {
            let shown = method.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } ? method.prefix(32) : ""
            unreadable = Failure("has segments that are encrypted with \(shown): only AES-128 can be read")
            return
        }
        guard let text = attributes["IV"] else {
            key = .init(uri: uri, vector: nil)
            return
        }
        guard text.lowercased().hasPrefix("0x"), let vector = Hexadecimal.bytes(text.dropFirst(2)), vector.count == 16
        else { throw Failure("has a key with an IV that is not 16 bytes") }
        key = .init(uri: uri, vector: vector)
    }

    private mutating func readMap(_ attributes: PlaylistAttributes) throws(Failure) {
        guard let uri = attributes["URI"] else { throw Failure("has an initialization section without a URI") }
        var bytes: Range<Int64>?
        if let text = attributes["BYTERANGE"] {
            let range = try Self.range(text)
            let offset = range.offset ?? 0
            bytes = offset..<offset + range.length
        }
        map = .init(uri: uri, range: bytes, key: key)
    }

    /// Reads an audio rendition. The default rendition of a group is played, otherwise the first.
    private mutating func readRendition(_ attributes: PlaylistAttributes) {
        guard attributes["TYPE"] == "AUDIO", let group = attributes["GROUP-ID"] else { return }
        let rank = attributes["DEFAULT"] == "YES" ? 2 : attributes["AUTOSELECT"] == "YES" ? 1 : 0
        if let known = sounds[group], known.rank >= rank { return }
        sounds[group] = (rank, attributes["URI"])
    }

    private mutating func readVariant(_ attributes: PlaylistAttributes) {
        let size = attributes["RESOLUTION"]?.split(separator: "x").compactMap { Int64($0) } ?? []
        let pixels = size.count == 2 && size.allSatisfy { 1...100_000 ~= $0 } ? size[0] * size[1] : nil
        variant = ReceivedVariant(
            uri: "", bandwidth: attributes["BANDWIDTH"].flatMap { Int64($0) }.map { max(0, $0) } ?? 0, pixels: pixels,
            codecs: (attributes["CODECS"] ?? "").split(separator: ",").map { $0.filter { $0 != " " } },
            sound: nil)
        groups.append(attributes["AUDIO"])
    }

    /// Returns the playlist that was read.
    func playlist() throws(Failure) -> ReceivedPlaylist {
        if !variants.isEmpty {
            return .master(
                zip(variants, groups).map { variant, group in
                    var variant = variant
                    variant.sound = group.flatMap { sounds[$0]?.uri }
                    return variant
                })
        }
        guard segments.targetDuration > 0 else { throw Failure("names neither variants nor a target duration") }
        return .media(segments)
    }
}

/// A list of attributes (RFC 8216 §4.2). If a name occurs several times, the first one counts.
struct PlaylistAttributes {
    private var values: [Substring: Substring] = [:]

    init(_ text: Substring) {
        var rest = text
        while let equals = rest.firstIndex(of: "=") {
            let name = rest[..<equals].drop { $0 == " " }
            rest = rest[rest.index(after: equals)...]
            var value: Substring
            if rest.first == "\"" {
                rest = rest.dropFirst()
                value = rest.prefix { $0 != "\"" }
                rest = rest[value.endIndex...].drop { $0 != "," }.dropFirst()
            } else {
                value = rest.prefix { $0 != "," }
                rest = rest[value.endIndex...].dropFirst()
            }
            if values[name] == nil { values[name] = value }
        }
    }

    subscript(_ name: String) -> String? { values[name[...]].map { String($0) } }
}
