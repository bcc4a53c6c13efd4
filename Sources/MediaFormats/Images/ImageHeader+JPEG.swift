// JPEG (ITU-T T.81 annex B) and the orientation of Exif 2.3 (4.6.4).
extension ImageHeader {
    /// Maximum number of scans in a progressive picture. Encoders make about ten; each costs a pass over all pixels,
    /// however few bytes it has.
    private static let mostScans = 100

    package static func jpeg(_ reader: inout ImageBytes) throws(ImageProblem) -> ImageHeader {
        reader.position = 2
        var orientation = 1
        while true {
            let marker = try nextMarker(&reader)
            // TEM and the restart markers have no length field.
            if marker == 0x01 || 0xD0...0xD7 ~= marker { continue }
            guard marker != 0xD9, marker != 0xDA else { throw .damaged(.jpeg, "its size is missing") }
            let start = reader.position
            guard let length = reader.big(2) else { throw .truncated(.jpeg) }
            guard length >= 2 else { throw .damaged(.jpeg, "a segment's length is \(length)") }
            switch marker {
            case 0xE1:
                orientation = self.orientation(ofExif: reader.slice(start + 2..<start + length)) ?? orientation
            case 0xC0...0xC2:
                return try frame(marker, &reader, orientation)
            case 0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
                throw .unsupported(.jpeg, "lossless, hierarchical or arithmetic coding")
            default: break
            }
            reader.position = start + length
        }
    }

    private static func nextMarker(_ reader: inout ImageBytes) throws(ImageProblem) -> Int {
        guard let first = reader.big(1) else { throw .truncated(.jpeg) }
        guard first == 0xFF else { throw .damaged(.jpeg, "a segment is missing") }
        while let byte = reader.big(1) {
            if byte == 0 { throw .damaged(.jpeg, "a segment is missing") }
            // Any number of fill bytes may precede a marker.
            if byte != 0xFF { return byte }
        }
        throw .truncated(.jpeg)
    }

    private static func frame(
        _ marker: Int, _ reader: inout ImageBytes, _ orientation: Int
    ) throws(ImageProblem) -> ImageHeader {
        guard let depth = reader.big(1), let height = reader.big(2), let width = reader.big(2),
            let components = reader.big(1)
        else { throw .truncated(.jpeg) }
        guard width > 0, height > 0 else { throw .damaged(.jpeg, "its header states \(width)×\(height) pixels") }
        guard depth == 8 else { throw .unsupported(.jpeg, "\(depth) bits per sample") }
        guard components == 1 || components == 3 else { throw .unsupported(.jpeg, "a CMYK colour space") }
        if marker == 0xC2, reader.count(ofMarker: 0xDA, most: mostScans) > mostScans {
            throw .damaged(.jpeg, "it has more than \(mostScans) scans")
        }
        return ImageHeader(.jpeg, width: width, height: height, orientation: orientation)
    }

    /// Returns tag 0x0112 of the first directory; `nil` if it is missing or invalid.
    private static func orientation(ofExif segment: [UInt8]) -> Int? {
        var reader = ImageBytes(segment)
        guard reader.starts(with: Array("Exif\0\0".utf8)), let order = reader.text(at: 6, count: 2),
            order == "II" || order == "MM"
        else { return nil }
        func number(_ count: Int) -> Int? { order == "II" ? reader.little(count) : reader.big(count) }
        // Offsets count from the byte order mark.
        reader.position = 10
        guard let offset = number(4) else { return nil }
        reader.position = 6 + offset
        guard let entries = number(2) else { return nil }
        for _ in 0..<entries {
            guard let tag = number(2), let type = number(2), let count = number(4), let value = number(2) else {
                return nil
            }
            reader.position += 2
            if tag == 0x0112, type == 3, count == 1 { return 1...8 ~= value ? value : nil }
        }
        return nil
    }
}
