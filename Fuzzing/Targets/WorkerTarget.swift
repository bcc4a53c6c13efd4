import EncodedMedia
import Foundation
import LayoutEngine
import MediaSupport
import MixModel

/// Messages between the service, relays and mixers. The first byte says of whom.
enum WorkerTarget: FuzzTarget {
    static let name = "workers"

    static var seeds: [[UInt8]] {
        let reports: [MixerReport] = [
            .configuration(HLSProgram.video(1)), .delays(["host/camera": .milliseconds(3)]),
            .frame(HLSProgram.picture(at: .milliseconds(40), isIDR: true, size: 20)), .failed(reason: "no encoder"),
        ]
        var plan = HostileRoom.plan(.mix(host: "host/camera"))
        plan.revision = 2
        let commands = [
            RelayCommand.hello(version: 1), .apply(plan), .viewFLV(keyframeRequests: true), .requestKeyframe, .drain,
        ]
        let texts = commands.compactMap { try? JSONEncoder().encode($0) }.map { [2] + Array($0) }
        let notes = [RelayReport.note(code: "a", message: "b"), .refused(reason: "c")]
        return reports.compactMap { try? $0.wireBytes() }.map { [0] + $0 } + texts
            + notes.compactMap { try? JSONEncoder().encode($0) }.map { [3] + Array($0) }
    }

    static func run(_ bytes: [UInt8]) {
        guard let kind = bytes.first else { return }
        let rest = bytes.dropFirst()
        switch kind % 5 {
        case 0: read(MixerReport.self, rest)
        case 1: read(MixerCommand.self, rest)
        case 2: decode(RelayCommand.self, rest)
        case 3: decode(RelayReport.self, rest)
        default: decode(RelayHostCommand.self, rest)
        }
    }

    /// Messages that were read can be written, and are then the same.
    private static func read<Message: WireMessage & Equatable>(_ type: Message.Type, _ bytes: ArraySlice<UInt8>) {
        var reader = MessageReader<Message>()
        reader.push(bytes)
        while let message = try? reader.next() {
            guard let written = try? message.wireBytes() else { continue }
            var again = MessageReader<Message>()
            again.push(written)
            let copy = try? again.next()
            require(copy == message, "\(message) is written as \(copy as Any)")
        }
    }

    private static func decode<Document: Codable>(_ type: Document.Type, _ bytes: ArraySlice<UInt8>) {
        guard let document = try? JSONDecoder().decode(type, from: Data(bytes)) else { return }
        let written = try? JSONEncoder().encode(document)
        require(written != nil, "cannot be written")
    }
}
