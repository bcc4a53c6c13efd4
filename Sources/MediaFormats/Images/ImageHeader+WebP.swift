// WebP (RFC 9649): 2.3 to 2.7 the container, 3.4 lossless; RFC 6386 9.1 the lossy frame.
extension ImageHeader {
    package static func webp(_ reader: inout ImageBytes) throws(ImageProblem) -> ImageHeader {
        reader.position = 4
        guard let size = reader.little(4) else { throw .truncated(.webp) }
        guard size <= reader.count - 8 else { throw .truncated(.webp) }
        reader.position = 16
        guard let type = reader.text(at: 12, count: 4), let length = reader.little(4) else { throw .truncated(.webp) }
        let sides: (width: Int, height: Int)
        switch type {
        case "VP8 ":
            guard let tag = reader.little(3), let code = reader.big(3), let width = reader.little(2),
                let height = reader.little(2)
            else { throw .truncated(.webp) }
            guard tag & 1 == 0, code == 0x9D012A, length >= 10 else {
                throw .damaged(.webp, "it does not begin with a picture")
            }
            // The upper two bits ask for scaling.
            sides = (width & 0x3FFF, height & 0x3FFF)
        case "VP8L":
            guard let signature = reader.big(1), let bits = reader.little(4) else { throw .truncated(.webp) }
            guard signature == 0x2F, bits >> 29 == 0, length >= 5 else {
                throw .damaged(.webp, "it does not begin with a picture")
            }
            sides = (bits & 0x3FFF + 1, bits >> 14 & 0x3FFF + 1)
        case "VP8X":
            guard let flags = reader.little(4), let width = reader.little(3), let height = reader.little(3) else {
                throw .truncated(.webp)
            }
            guard flags & 0x02 == 0 else { throw .unsupported(.webp, "animation") }
            sides = (width + 1, height + 1)
        default:
            throw .damaged(.webp, "it does not begin with a picture")
        }
        guard sides.width > 0, sides.height > 0 else {
            throw .damaged(.webp, "its header states \(sides.width)×\(sides.height) pixels")
        }
        return ImageHeader(.webp, width: sides.width, height: sides.height)
    }
}
