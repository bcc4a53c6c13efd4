import Foundation
import MixModel
import ProgramSplicer

/// Pictures of a recording in a form that `ffmpeg` reads.
struct PictureFile {
    var path: String
    /// What the file's times are ahead of the recording's, in ms.
    var offset: Int64
    /// Made for the decoder: whoever has decoded it removes it.
    var isTemporary: Bool

    /// The recording itself; or, where it holds H.265, which FFmpeg's FLV reader knows from 6.1 on, a transport stream beside
    /// it for each stretch of one codec.
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
