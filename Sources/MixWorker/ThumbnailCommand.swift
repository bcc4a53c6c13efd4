import ArgumentParser
import Foundation
import MixModel
import ProgramMixer

/// `mixworker thumbnail`: decodes keyframes and audio for operators' previews, and keyframes for limits of quality.
struct ThumbnailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "thumbnail",
        abstract: "Makes small pictures from keyframes, and measures their brightness and audio levels.",
        discussion: """
            Started by mixorchestrator, or by a relay, with one end of a socket pair as its standard input. Answers one
            request at a time; exits when its input ends.
            """)

    func run() async throws {
        signal(SIGPIPE, SIG_IGN)
        if let warning = WorkerStart.containment?.warning {
            FileHandle.standardError.write(Data("thumbnail \(warning)\n".utf8))
        }
        let maker = PreviewMaker()
        let answers = ConsumerInput()
        // Reads may block here, because nothing else runs in this process.
        while let head = Self.read(4), let length = PreviewWire.length(head), length <= PreviewRequest.longest + 2,
            let body = Self.read(length), let request = PreviewRequest(body: body)
        {
            answers.send(await maker.answer(request).wireBytes)
        }
    }

    /// Reads exactly this number of bytes of standard input; `nil` if it ends before.
    private static func read(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var position = 0
        while position < count {
            let got = bytes.withUnsafeMutableBytes {
                Foundation.read(STDIN_FILENO, $0.baseAddress?.advanced(by: position), count - position)
            }
            if got > 0 { position += got } else if got == 0 || errno != EINTR { return nil }
        }
        return bytes
    }
}
