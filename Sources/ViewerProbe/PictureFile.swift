import EncodedMedia
import Foundation
import MediaFormats

/// The pictures of a recording in a form that `ffmpeg` reads.
struct PictureFile {
    var path: String
    /// Amount by which the file's times are ahead of the recording's, in ms.
    var offset: Int64
    /// Whether the file was made for the decoder, so that the caller removes it after decoding.
    var isTemporary: Bool

    /// Returns the recording itself or, if it contains H.265, a transport stream next to it for each stretch of one
    /// codec: FFmpeg's FLV reader supports H.265 only from 6.1 on.
    static func files(of recording: FLVRecording, _ trace: ProgramTrace) throws(ProbeError) -> [PictureFile] {
        guard trace.configurations.contains(where: { $0.videoCodec == .h265 }) else {
            return [PictureFile(path: recording.path, offset: 0, isTemporary: false)]
        }
        var files: [PictureFile] = []
        var codec: VideoCodec?
        var configuration: CodecConfiguration?
        var bytes: [UInt8] = []
        var frames: [EncodedFrame] = []
        var writer = TransportStreamWriter()
        func flushFrames() {
            bytes += writer.segment(frames, video: configuration, audio: nil)
            frames = []
        }
        func flush() throws(ProbeError) {
            guard !frames.isEmpty else { return }
            flushFrames()
            let path = "\(recording.path).\(files.count).ts"
            guard FileManager.default.createFile(atPath: path, contents: Data(bytes)) else {
                throw .file("cannot write \(path)")
            }
            let offset = TransportStreamWriter.origin.roundedMilliseconds
            files.append(PictureFile(path: path, offset: offset, isTemporary: true))
            (bytes, writer) = ([], TransportStreamWriter())
        }
        for entry in trace.video where trace.configurations.indices.contains(entry.configuration) {
            let next = trace.configurations[entry.configuration]
            if next.videoCodec != codec {
                try flush()
                codec = next.videoCodec
            } else if next != configuration {
                flushFrames()
            }
            configuration = next
            frames.append(entry.frame)
        }
        try flush()
        return files
    }
}
