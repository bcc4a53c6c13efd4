@testable import MediaFormats

/// Sample tables, read as in a player (ISO/IEC 14496-12 §8.6, §8.7).
struct MovieTables {
    var times: [Int: [Int64]] = [:]
    var ranges: [Int: [Range<Int>]] = [:]

    init?(_ bytes: [UInt8]) {
        let reader = MP4Reader(bytes: bytes)
        guard let movie = reader.box("moov", in: 0..<bytes.count) else { return nil }
        for track in reader.boxes(in: movie.range) where track.type == "trak" {
            guard let header = reader.box("tkhd", in: track.range),
                let table = reader.box("mdia", "minf", "stbl", in: track.range),
                let stts = reader.box("stts", in: table.range), let stsz = reader.box("stsz", in: table.range),
                let stsc = reader.box("stsc", in: table.range), let co64 = reader.box("co64", in: table.range)
            else { return nil }
            let id = Int(reader.uint32(header.range.lowerBound + 20))
            func entries(_ box: MP4Reader.Box, width: Int, from start: Int = 8) -> [[Int]] {
                let count = Int(reader.uint32(box.range.lowerBound + start - 4))
                return (0..<count).map { row in
                    (0..<width).map { Int(reader.uint32(box.range.lowerBound + start + (row * width + $0) * 4)) }
                }
            }
            var time: Int64 = 0
            times[id] = entries(stts, width: 2).flatMap { run in
                (0..<run[0]).map { _ in
                    defer { time += Int64(run[1]) }
                    return time
                }
            }
            let sizes = entries(stsz, width: 1, from: 12).map { $0[0] }
            let chunks = entries(co64, width: 2).map { $0[0] << 32 | $0[1] }
            let runs = entries(stsc, width: 3)
            var found: [Range<Int>] = []
            for (number, start) in chunks.enumerated() {
                let count = runs.last { $0[0] <= number + 1 }?[1] ?? 0
                var position = start
                for _ in 0..<count {
                    let size = sizes[found.count]
                    found.append(position..<position + size)
                    position += size
                }
            }
            ranges[id] = found
        }
    }
}
