import EncodedMedia
import Foundation
import GStreamerKit
import MediaFormats
import MixModel

/// The transcoding of a program for one rendition, with one transcoder after another, one for each codec configuration.
public struct RenditionProgram {
    private let rendition: HLSRendition
    private let output: @Sendable ([UInt8]) -> Void
    private var reader = FLVReader()
    private var configuration: CodecConfiguration?
    private var transcoder: RenditionTranscoder?

    /// Creates a rendition's program.
    /// - Parameters:
    ///   - settings: The first line that the packager sent.
    ///   - output: Called with lines for the packager, on any thread.
    public init(settings: [UInt8], output: @escaping @Sendable ([UInt8]) -> Void) throws {
        rendition = try JSONDecoder().decode(RenditionSettings.self, from: Data(settings)).rendition
        self.output = output
    }

    /// Processes the next bytes of the program, an FLV stream. Waits while the transcoder is busy.
    public mutating func push(_ bytes: some Collection<UInt8>) async throws {
        for item in try reader.push(bytes) {
            switch item {
            case .configuration(let configuration) where configuration.track == .video:
                guard configuration != self.configuration else { continue }
                await finish()
                self.configuration = configuration
            case .frame(let frame) where frame.track == .video:
                if transcoder?.failure != nil { await finish() }
                if transcoder == nil {
                    guard frame.isIDR, let configuration else { continue }
                    try await start(configuration)
                }
                transcoder?.push(frame)
            default: break
            }
        }
    }

    /// Drains the transcoder and ends it.
    public mutating func finish() async {
        guard let transcoder else { return }
        self.transcoder = nil
        await transcoder.finish()
        if let failure = transcoder.failure { Self.send(.failed(failure), to: output) }
    }

    private mutating func start(_ configuration: CodecConfiguration) async throws {
        let made = try RenditionTranscoder(configuration, rendition) { [output] in Self.send($0, to: output) }
        try await made.start()
        transcoder = made
    }

    private static func send(_ report: RenditionReport, to output: @Sendable ([UInt8]) -> Void) {
        guard let data = try? JSONEncoder().encode(report) else { return }
        output([UInt8](data) + [0x0A])
    }
}
