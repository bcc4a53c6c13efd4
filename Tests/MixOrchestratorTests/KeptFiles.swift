import Foundation
import MixModel

@testable import EncodedMedia

/// Files that recorders and packagers have written below the service's directory.
enum KeptFiles {
    static let segment = [UInt8]((0..<1880).map { UInt8(truncatingIfNeeded: $0 &* 7) })

    /// Writes a recording and its manifest.
    ///
    /// - Parameter content: The recording's content, by default 1000 bytes.
    static func makeRecording(
        _ directory: String, of room: String = "demo", _ name: String, state: RecordingManifest.State = .complete,
        recording: String = "a", content: Data = Data((0..<1000).map { UInt8($0 & 0xFF) })
    ) throws {
        let place = "\(directory)/recordings/\(FileName.safe(room))"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        var manifest = RecordingManifest(
            room: room, task: "auto-demo", recording: recording, source: nil, file: name + ".mp4", part: 1,
            startedAt: 1_767_225_600, hasVideo: true, hasAudio: true)
        manifest.state = state
        try content.write(to: URL(filePath: "\(place)/\(name).mp4"))
        try JSONEncoder().encode(manifest).write(to: URL(filePath: "\(place)/\(name).json"))
    }

    /// Writes an HLS session of three segments.
    static func makeSession(
        _ directory: String, app: String = "default", room: String = "demo", name: String = "1700000000000",
        isEnded: Bool = false
    ) throws {
        let path = "\(directory)/hls/\(app)/\(room)/\(name)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        func write(_ text: String, _ file: String) throws {
            try text.write(toFile: "\(path)/\(file)", atomically: true, encoding: .utf8)
        }
        let master = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=100000\nvideo%.m3u8\n"
        var media = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n"
        var lines = ""
        var checksum = CRC32()
        checksum.update(segment)
        for number in 0..<3 {
            media += "#EXT-X-PROGRAM-DATE-TIME:2023-11-14T22:13:\(20 + number * 4).000Z\n"
            media += "#EXTINF:4.0,\nvideo-\(number).ts\n"
            try Data(segment).write(to: URL(filePath: "\(path)/video-\(number).ts"))
            lines += """
                {"variant":"video","entry":{"number":\(number),"uri":"video-\(number).ts","isGap":false,\
                "bytes":1880,"checksum":\(checksum.value)}}\n
                """
        }
        try write(master.replacing("%", with: ""), "index.m3u8")
        try write(media, "video.m3u8")
        try write(lines, "segments.jsonl")
        if isEnded {
            try write(master.replacing("%", with: "-vod"), "vod.m3u8")
            try write(media + "#EXT-X-ENDLIST\n", "video-vod.m3u8")
        }
        try write(#"{"isEnded":\#(isEnded),"settings":{"enableVOD":true}}"#, "session.json")
    }
}
