import EncodedMedia
import Foundation
import MediaFormats
import MixModel

/// The output of one HLS session so far, with the files that record it. Another packager can continue it.
struct PackagerSession: Sendable {
    /// The session as stored in `session.json`.
    struct Record: Hashable, Codable, Sendable {
        /// Seconds since 1970.
        var startedAt: Double
        var settings: HLSSettings
        var isEnded = false
        /// The program itself, then the renditions.
        var variants: [PlaylistVariant]
    }

    /// A line of `segments.jsonl`, which lists all segments.
    struct Line: Codable {
        var variant: String
        var entry: PlaylistEntry
    }

    static let recordName = "session.json"
    static let linesName = "segments.jsonl"
    static let masterName = "index.m3u8"
    static let topName = "video"
    /// Time without a new segment after which a session is over, in seconds.
    static let mostPause = 600.0

    let name: String
    let files: SessionFiles
    private(set) var record: Record
    private var master = ""

    /// Creates a session in a directory of its own.
    init(in directory: String, settings: HLSSettings, targetDuration: Int, now: Double) throws(SessionFiles.Failure) {
        let time = Int64(now * 1000)
        // The clock may have been set back, and viewers get the session with the highest number.
        let next = Self.sessions(in: directory).max().map { max($0 + 1, time) } ?? time
        name = String(next)
        files = SessionFiles(directory: "\(directory)/\(name)")
        record = Record(
            startedAt: now, settings: settings,
            variants: ([Self.topName] + settings.renditions.map(\.name)).map {
                PlaylistVariant(name: $0, targetDuration: targetDuration, keepsAll: settings.enableVOD)
            })
        try files.create()
    }

    /// Resumes the newest session in `directory` if it was not ended and matches the settings. Ends it and returns
    /// `nil` if it does not match or is too old.
    init?(resuming directory: String, settings: HLSSettings, now: Double) {
        guard let newest = Self.sessions(in: directory).max() else { return nil }
        name = String(newest)
        files = SessionFiles(directory: "\(directory)/\(name)")
        guard let data = files.read(Self.recordName), let stored = try? JSONDecoder().decode(Record.self, from: data),
            !stored.isEnded, stored.variants.count == stored.settings.renditions.count + 1,
            stored.variants.allSatisfy(\.isSound), 1...(1 << 20) ~= stored.settings.windowSeconds
        else { return nil }
        record = stored
        if stored.settings.enableVOD { restoreComplete() }
        let last = stored.variants.first?.live.entries.last
        let age = now - Double((last?.wallClock ?? 0) + (last?.duration ?? 0) / 1000) / 1000
        guard stored.settings.makesTheSame(as: settings), abs(age) < Self.mostPause else {
            try? end()
            return nil
        }
        record.settings = settings
        removeLeftovers()
        fillGaps()
    }

    var targetDuration: Int { record.variants[0].live.targetDuration }
    var nextNumber: Int { record.variants[0].nextNumber }

    /// Adds a segment to a variant: first the file, then the playlists that name it.
    ///
    /// - Parameter bytes: The segment; `nil` for a gap.
    mutating func append(
        _ bytes: [UInt8]?, of segment: ProgramSegment, number: Int, variant index: Int, now: Double
    ) throws(SessionFiles.Failure) {
        let variant = record.variants[index]
        var entry = PlaylistEntry(
            number: number, uri: "\(variant.name)-\(number).ts", duration: segment.duration.nanoseconds / 1000,
            wallClock: segment.wallClock, isDiscontinuity: segment.isDiscontinuity, isGap: bytes == nil)
        if let bytes {
            var checksum = CRC32()
            checksum.update(bytes)
            entry.bytes = bytes.count
            entry.checksum = checksum.value
            entry.format = SegmentFormat(segment)
            try files.write(bytes, to: entry.uri)
        }
        try append(entry, isIndependent: segment.isIndependent, variant: index, now: now)
    }

    private mutating func append(
        _ entry: PlaylistEntry, isIndependent: Bool, variant index: Int, now: Double
    ) throws(SessionFiles.Failure) {
        record.variants[index].append(
            entry, isIndependent: isIndependent, window: record.settings.windowSeconds, now: Int64(now * 1000))
        let variant = record.variants[index]
        if record.settings.enableVOD {
            let line = try? PackagerSession.encoder.encode(Line(variant: variant.name, entry: entry))
            if let line { try files.append([UInt8](line), to: Self.linesName) }
        }
        // First the record: a packager that continues after a kill gives no number that a playlist has named.
        try writeRecord()
        try writePlaylists(of: variant)
        for uri in record.variants[index].takeExpired(now: Int64(now * 1000)) { files.remove(uri) }
    }

    private mutating func writePlaylists(of variant: PlaylistVariant) throws(SessionFiles.Failure) {
        try files.write(variant.live.text(), to: variant.playlistName)
        if let complete = variant.complete {
            try files.write(complete.text(.event), to: "\(variant.name)-event.m3u8")
        }
        let master = MasterPlaylist.text(record.variants)
        guard master != self.master else { return }
        try files.write(master, to: Self.masterName)
        if record.settings.enableVOD { try files.write(Self.renamed(master, "event"), to: "event.m3u8") }
        self.master = master
    }

    private func writeRecord() throws(SessionFiles.Failure) {
        guard let data = try? Self.encoder.encode(record) else { return }
        try files.write([UInt8](data), to: Self.recordName)
    }

    /// Ends the session, writes its final playlists and marks it as ended.
    mutating func end() throws(SessionFiles.Failure) {
        record.isEnded = true
        for index in record.variants.indices { record.variants[index].end() }
        for variant in record.variants {
            try writePlaylists(of: variant)
            if let complete = variant.complete {
                try files.write(complete.text(.onDemand), to: "\(variant.name)-vod.m3u8")
            }
        }
        if record.settings.enableVOD {
            try files.write(Self.renamed(MasterPlaylist.text(record.variants), "vod"), to: "vod.m3u8")
        }
        try writeRecord()
    }

    /// Returns the master playlist for another kind of playlist of the same variants.
    private static func renamed(_ master: String, _ kind: String) -> String {
        master.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.hasSuffix(".m3u8") && !line.hasPrefix("#") ? "\(line.dropLast(5))-\(kind).m3u8" : String(line)
        }.joined(separator: "\n")
    }

    /// Returns the numbers that are the names of the sessions in a directory. Numbers that no packager gives in the next
    /// three million years are not counted, so that the next one is valid.
    private static func sessions(in directory: String) -> [Int64] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.compactMap { name -> Int64? in
            guard name.utf8.count < 18, let number = Int64(name), number >= 0, String(number) == name else {
                return nil
            }
            return number
        }
    }

    // MARK: - Resuming after another process

    private mutating func restoreComplete() {
        let lines = (files.read(Self.linesName) ?? Data()).split(separator: 0x0A).compactMap {
            // The last line may be truncated.
            try? JSONDecoder().decode(Line.self, from: $0)
        }
        for index in record.variants.indices {
            let variant = record.variants[index]
            var entries: [PlaylistEntry] = []
            for line in lines
            where line.variant == variant.name && line.entry.number < variant.nextNumber && line.entry.isSound {
                // A packager that was killed before it wrote the record has listed a segment that the next one made
                // again.
                while let last = entries.last, last.number >= line.entry.number { entries.removeLast() }
                entries.append(line.entry)
            }
            record.variants[index].restore(complete: entries)
        }
    }

    private func removeLeftovers() {
        for name in files.names where name.hasSuffix(".part") || name.hasSuffix(".ts") {
            if !record.variants.contains(where: { $0.names(name) }) { files.remove(name) }
        }
    }

    /// Adds gaps for the segments that a rendition did not deliver in time.
    private mutating func fillGaps() {
        let top = record.variants[0].live.entries
        for index in record.variants.indices.dropFirst() {
            for entry in top where entry.number >= record.variants[index].nextNumber {
                var gap = entry
                gap.isGap = true
                (gap.uri, gap.bytes, gap.checksum) = ("\(record.variants[index].name)-\(entry.number).ts", 0, 0)
                record.variants[index].append(
                    gap, isIndependent: true, window: record.settings.windowSeconds, now: entry.wallClock)
            }
        }
    }

    private static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        return encoder
    }
}

extension HLSSettings {
    /// Returns whether a playlist can continue with the other settings.
    fileprivate func makesTheSame(as other: HLSSettings) -> Bool {
        renditions.map(\.name) == other.renditions.map(\.name) && enableVOD == other.enableVOD
            && segmentSeconds == other.segmentSeconds
    }
}
