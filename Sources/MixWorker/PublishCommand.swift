import ArgumentParser
import Foundation
import LayoutEngine
import ViewerProbe

/// `mixworker publish`: a synthetic source. Replaces itself with the `ffmpeg` process, so that its process identifier
/// stays the same.
struct PublishCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Pushes a marked test picture and test tones to an RTMP address (runs ffmpeg).")

    @Argument(help: "rtmp://host[:port]/application/name")
    var url: String

    @Option(help: "Number shown in the picture's mark, 0…15; also chooses tone and beep.")
    var id = 1

    @Option(help: "WIDTHxHEIGHT in pixels, even.")
    var size = "720x1280"

    @Option(help: "Frames per second, a whole number.")
    var fps = 20

    @Option(help: "Consecutive B-frames; 0 for an encoder without delay.")
    var bframes = 0

    @Option(help: "Seconds from keyframe to keyframe.")
    var gop = 2.0

    @Option(help: "Audio samples per second, 8000…48000.")
    var rate = 48000

    @Option(help: "Audio channels: 1 or 2.")
    var channels = 2

    @Flag(help: "Silence instead of tone and beep.")
    var silent = false

    @Option(help: "Colour of the picture as #RRGGBB. Default: chosen by the number.")
    var colour: String?

    @Option(help: "Show a talking person with this name, and a clock, instead of a plain picture.")
    var person: String?

    @Option(help: "Colour space signalled in the stream: none, bt709 or bt601.")
    var colourSignal = "none"

    @Option(help: "Video bit rate in bit/s.")
    var bitrate = 1_300_000

    @Option(help: "Seconds to publish. Default: without end.")
    var duration: Double?

    @Flag(help: "Print the ffmpeg command instead of running it.")
    var print = false

    func run() throws {
        let publisher = try publisher()
        if print, person != nil {
            throw ValidationError("--print cannot be combined with --person, whose drawings exist only while it runs")
        }
        let drawings = try publisher.drawings.map(PublishCommand.file)
        let arguments = ["ffmpeg"] + publisher.arguments(url: url, drawings: drawings)
        if print {
            Swift.print(arguments.map(PublishCommand.quoted).joined(separator: " "))
            return
        }
        var pointers = arguments.map { strdup($0) }
        pointers.append(nil)
        // Swift's threads block most signals, and ffmpeg would inherit the mask: SIGTERM could not end it.
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
        execvp("ffmpeg", pointers)
        throw ValidationError("cannot run ffmpeg: \(String(cString: strerror(errno))); install the package ffmpeg")
    }

    private func publisher() throws -> SyntheticPublisher {
        let numbers = size.split(separator: "x").compactMap { Int($0) }
        guard numbers.count == 2, numbers.allSatisfy({ $0 >= 80 && $0 <= 4096 && $0 % 2 == 0 }) else {
            throw ValidationError("--size \(size): expected WIDTHxHEIGHT, even numbers from 80 to 4096")
        }
        guard (0...15).contains(id) else { throw ValidationError("--id \(id): expected 0…15") }
        guard (1...60).contains(fps) else { throw ValidationError("--fps \(fps): expected 1…60") }
        guard (0...4).contains(bframes) else { throw ValidationError("--bframes \(bframes): expected 0…4") }
        guard (1...2).contains(channels) else { throw ValidationError("--channels \(channels): expected 1 or 2") }
        guard (8000...48000).contains(rate) else { throw ValidationError("--rate \(rate): expected 8000…48000") }
        guard gop > 0, gop <= 20 else { throw ValidationError("--gop \(gop): expected more than 0, at most 20") }
        guard let tag = SyntheticPublisher.ColourTag(rawValue: colourSignal) else {
            throw ValidationError("--colour-signal \(colourSignal): expected none, bt709 or bt601")
        }
        var chosen: RGB?
        if let colour {
            guard let parsed = RGB(hex: colour) else {
                throw ValidationError("--colour \(colour): expected #RRGGBB")
            }
            chosen = parsed
        }
        return SyntheticPublisher(
            id: id, width: numbers[0], height: numbers[1], fps: fps, bFrames: bframes, gopSeconds: gop,
            sampleRate: rate, channels: channels, hasSound: !silent, colour: chosen, person: person, colourTag: tag,
            videoBitrate: bitrate, seconds: duration)
    }

    /// Returns the path of a file with `text`, readable by the program that this process becomes. The file has no name,
    /// so that it disappears with that program.
    private static func file(of text: String) throws -> String {
        var template = Array((FileManager.default.temporaryDirectory.path + "/drawing-XXXXXX").utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else {
            throw ValidationError("--person: no temporary file: \(String(cString: strerror(errno)))")
        }
        unlink(template)
        let bytes = Array(text.utf8)
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else {
                throw ValidationError("--person: cannot write: \(String(cString: strerror(errno)))")
            }
            written += count
        }
        return "/proc/self/fd/\(descriptor)"
    }

    private static func quoted(_ text: String) -> String {
        let plain = text.allSatisfy { $0.isLetter || $0.isNumber || "-_./:=,".contains($0) }
        return plain ? text : "'" + text.replacing("'", with: "'\\''") + "'"
    }
}
