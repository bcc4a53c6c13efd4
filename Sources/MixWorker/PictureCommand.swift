import ArgumentParser
import Foundation
import GStreamerKit

/// `mixworker picture`: rasterises drawings of `mixorchestrator layout preview`.
struct PictureCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "picture",
        abstract: "Rasterises an SVG drawing, as the mixer does with cards, labels and texts.",
        discussion: """
            The picture has the drawing's size, 1 to \(ImageDecoder.mostSide) pixels per side. External files and URLs \
            in the drawing are not loaded.

            Example: mixorchestrator layout preview layouts/grid.json --participants 4 | \
            mixworker picture --svg - --png grid.png
            """)

    @Option(help: "SVG file to read; - for standard input.")
    var svg: String

    @Option(help: "PNG file to write; - for standard output.")
    var png: String

    /// Maximum size of a drawing, in bytes. Contact sheets with embedded images stay far below it.
    private static let mostBytes = 64_000_000

    func run() async throws {
        do {
            try write(try await ImageDecoder.svg(try read()).png())
        } catch let error as GStreamerError {
            throw Failure("\(svg): \(error)")
        }
    }

    private func read() throws -> String {
        var data = Data()
        do {
            let handle =
                svg == "-" ? FileHandle.standardInput : try FileHandle(forReadingFrom: URL(fileURLWithPath: svg))
            data = try handle.read(upToCount: Self.mostBytes + 1) ?? Data()
        } catch {
            throw Failure("\(svg): cannot be read: \(Self.reason(error))")
        }
        guard data.count <= Self.mostBytes else {
            throw Failure("\(svg): more than \(Self.mostBytes / 1_000_000) MB")
        }
        return String(decoding: data, as: UTF8.self)
    }

    private func write(_ bytes: [UInt8]) throws {
        guard png != "-" else {
            try FileHandle.standardOutput.write(contentsOf: bytes)
            return
        }
        do {
            try Data(bytes).write(to: URL(fileURLWithPath: png), options: .atomic)
        } catch {
            let isThere = (error as? CocoaError)?.code != .fileNoSuchFile
            throw Failure("\(png): cannot be written: \(isThere ? Self.reason(error) : "the directory does not exist")")
        }
    }

    /// Returns the system's description of an error, if it has one.
    private static func reason(_ error: any Error) -> String {
        let error = error as NSError
        let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError ?? error
        return cause.domain == NSPOSIXErrorDomain
            ? String(cString: strerror(Int32(cause.code))) : error.localizedDescription
    }

    /// A failure without the usage text of a `ValidationError`, because the arguments were fine.
    private struct Failure: Error, CustomStringConvertible {
        var description: String

        init(_ description: String) { self.description = description }
    }
}
