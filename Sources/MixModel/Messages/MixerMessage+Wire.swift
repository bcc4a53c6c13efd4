import EncodedMedia
import LayoutEngine

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// Frames and configurations are binary because they are many and large; the rest is JSON because it is small and read
// by people. A frame's body: track (1 byte) · flags (1: bit 0 = IDR) · pts (8) · dts (8) · length of the source's name
// (2) · name in UTF-8 · payload. A configuration's body: track, or 10 for H.265 · length of the name · name · bytes.
// Integers are big-endian, times in nanoseconds. Reports carry an empty name.

extension MixerCommand: WireMessage {
    private enum Kind: UInt8 {
        case start = 1
        case scene, configuration, frame, ended, requestIDR, stop, sceneChange, frameDivisor, reportVolumes
        case stalled, play, pictures
    }
    private struct StartBody: Codable {
        var version: Int
        var setup: MixerSetup
    }
    /// Decodes only the version of a message that may otherwise be unreadable.
    private struct Version: Codable { var version: Int? }
    private struct EndedBody: Codable { var source: SourceID }
    private struct StalledBody: Codable {
        var source: SourceID
        var track: Track
    }
    private struct TimeBody: Codable { var time: MediaTime }
    private struct LimitBody: Codable { var until: MediaTime? }
    private struct DivisorBody: Codable { var divisor: Int }
    private struct VolumesBody: Codable { var isOn: Bool }
    private struct PlayBody: Codable { var playlist: MixerPlaylist? }
    private static let badNumbers = "its numbers are invalid"

    /// - Throws: `WireError` when a part is too long for the format.
    public func wireBytes() throws(WireError) -> [UInt8] {
        var writer: WireWriter
        switch self {
        case .start(let setup):
            writer = WireWriter(kind: Kind.start.rawValue)
            try writer.append(json: StartBody(version: MixerCommand.version, setup: setup))
        case .scene(let scene):
            writer = WireWriter(kind: Kind.scene.rawValue)
            try writer.append(json: scene)
        case .sceneChange(let difference):
            writer = WireWriter(kind: Kind.sceneChange.rawValue)
            try writer.append(json: difference)
        case .configuration(let source, let configuration):
            writer = WireWriter(kind: Kind.configuration.rawValue)
            try writer.append(configuration, source: source.rawValue)
        case .frame(let source, let frame):
            writer = WireWriter(kind: Kind.frame.rawValue, capacity: frame.payload.count + 64)
            try writer.append(frame, source: source.rawValue)
        case .ended(let source):
            writer = WireWriter(kind: Kind.ended.rawValue)
            try writer.append(json: EndedBody(source: source))
        case .stalled(let source, let track):
            writer = WireWriter(kind: Kind.stalled.rawValue)
            try writer.append(json: StalledBody(source: source, track: track))
        case .requestIDR(let time):
            writer = WireWriter(kind: Kind.requestIDR.rawValue)
            try writer.append(json: TimeBody(time: time))
        case .frameDivisor(let divisor):
            writer = WireWriter(kind: Kind.frameDivisor.rawValue)
            try writer.append(json: DivisorBody(divisor: divisor))
        case .pictures(let until):
            writer = WireWriter(kind: Kind.pictures.rawValue)
            try writer.append(json: LimitBody(until: until))
        case .reportVolumes(let isOn):
            writer = WireWriter(kind: Kind.reportVolumes.rawValue)
            try writer.append(json: VolumesBody(isOn: isOn))
        case .play(let playlist):
            writer = WireWriter(kind: Kind.play.rawValue)
            try writer.append(json: PlayBody(playlist: playlist))
        case .stop:
            writer = WireWriter(kind: Kind.stop.rawValue)
        }
        return try writer.finish()
    }

    public init(kind: UInt8, body: ArraySlice<UInt8>) throws(WireError) {
        guard let known = Kind(rawValue: kind) else { throw .unknownKind(kind) }
        var parser = WireParser(kind: kind, body: body)
        switch known {
        case .start:
            // A message without a version is of version 1.
            let version = try parser.json(Version.self).version ?? 1
            guard version == MixerCommand.version else {
                throw .malformed(
                    kind: kind,
                    reason:
                        "it has version \(version), this mixer reads version \(MixerCommand.version): relay and "
                        + "mixer are from different releases; end the relay, its replacement will match")
            }
            let setup = try parser.json(StartBody.self).setup
            guard setup.isSound else { throw .malformed(kind: kind, reason: MixerCommand.badNumbers) }
            self = .start(setup)
        case .scene:
            let scene = try parser.json(Scene.self)
            guard scene.isPlausible else { throw .malformed(kind: kind, reason: MixerCommand.badNumbers) }
            self = .scene(scene)
        case .sceneChange:
            let difference = try parser.json(SceneDifference.self)
            guard difference.isPlausible else { throw .malformed(kind: kind, reason: MixerCommand.badNumbers) }
            self = .sceneChange(difference)
        case .configuration:
            let (source, configuration) = try parser.configuration()
            self = .configuration(SourceID(source), configuration)
        case .frame:
            let (source, frame) = try parser.frame()
            self = .frame(SourceID(source), frame)
        case .ended:
            self = .ended(try parser.json(EndedBody.self).source)
        case .stalled:
            let body = try parser.json(StalledBody.self)
            self = .stalled(body.source, body.track)
        case .requestIDR:
            self = .requestIDR(try parser.json(TimeBody.self).time)
        case .frameDivisor:
            let divisor = try parser.json(DivisorBody.self).divisor
            guard 1...MixerCommand.mostFrameDivisor ~= divisor else {
                throw .malformed(kind: kind, reason: "\(divisor) is not a frame divisor")
            }
            self = .frameDivisor(divisor)
        case .pictures:
            self = .pictures(until: try parser.json(LimitBody.self).until)
        case .reportVolumes:
            self = .reportVolumes(try parser.json(VolumesBody.self).isOn)
        case .play:
            let playlist = try parser.json(PlayBody.self).playlist
            guard playlist?.isSound ?? true else { throw .malformed(kind: kind, reason: MixerCommand.badNumbers) }
            self = .play(playlist)
        case .stop:
            self = .stop
        }
    }
}

extension MixerReport: WireMessage {
    private enum Kind: UInt8 {
        case configuration = 129
        case frame, sourceFailed, failed, note, volumes, delays, idle
    }
    private struct SourceFailedBody: Codable {
        var source: SourceID
        var reason: String
    }
    private struct FailedBody: Codable { var reason: String }
    private struct IdleBody: Codable {
        var status: IdleStatus
        var item: Int
    }
    private struct VolumesBody: Codable { var volumes: [String: Int] }
    private struct DelaysBody: Codable { var delays: [String: MediaTime] }
    private struct NoteBody: Codable {
        var code: String
        var message: String
    }

    public func wireBytes() throws(WireError) -> [UInt8] {
        var writer: WireWriter
        switch self {
        case .configuration(let configuration):
            writer = WireWriter(kind: Kind.configuration.rawValue)
            try writer.append(configuration, source: "")
        case .frame(let frame):
            writer = WireWriter(kind: Kind.frame.rawValue, capacity: frame.payload.count + 64)
            try writer.append(frame, source: "")
        case .sourceFailed(let source, let reason):
            writer = WireWriter(kind: Kind.sourceFailed.rawValue)
            try writer.append(json: SourceFailedBody(source: source, reason: reason))
        case .note(let code, let message):
            writer = WireWriter(kind: Kind.note.rawValue)
            try writer.append(json: NoteBody(code: code, message: message))
        case .volumes(let volumes):
            writer = WireWriter(kind: Kind.volumes.rawValue)
            try writer.append(json: VolumesBody(volumes: byName(volumes)))
        case .delays(let delays):
            writer = WireWriter(kind: Kind.delays.rawValue)
            try writer.append(json: DelaysBody(delays: byName(delays)))
        case .idle(let status, let item):
            writer = WireWriter(kind: Kind.idle.rawValue)
            try writer.append(json: IdleBody(status: status, item: item))
        case .failed(let reason):
            writer = WireWriter(kind: Kind.failed.rawValue)
            try writer.append(json: FailedBody(reason: reason))
        }
        return try writer.finish()
    }

    public init(kind: UInt8, body: ArraySlice<UInt8>) throws(WireError) {
        guard let known = Kind(rawValue: kind) else { throw .unknownKind(kind) }
        var parser = WireParser(kind: kind, body: body)
        switch known {
        case .configuration:
            self = .configuration(try parser.configuration().1)
        case .frame:
            self = .frame(try parser.frame().1)
        case .sourceFailed:
            let body = try parser.json(SourceFailedBody.self)
            self = .sourceFailed(body.source, reason: body.reason)
        case .note:
            let body = try parser.json(NoteBody.self)
            self = .note(code: body.code, message: body.message)
        case .volumes:
            self = .volumes(bySource(try parser.json(VolumesBody.self).volumes))
        case .delays:
            self = .delays(bySource(try parser.json(DelaysBody.self).delays))
        case .idle:
            let body = try parser.json(IdleBody.self)
            self = .idle(body.status, item: body.item)
        case .failed:
            self = .failed(reason: try parser.json(FailedBody.self).reason)
        }
    }
}

/// Returns the values by name, because JSON objects have string keys.
private func byName<Value>(_ values: [SourceID: Value]) -> [String: Value] {
    Dictionary(values.map { ($0.key.rawValue, $0.value) }, uniquingKeysWith: { first, _ in first })
}

private func bySource<Value>(_ values: [String: Value]) -> [SourceID: Value] {
    Dictionary(values.map { (SourceID($0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
}

/// Builds the bytes of one message.
private struct WireWriter {
    private let kind: UInt8
    private var bytes: [UInt8]

    init(kind: UInt8, capacity: Int = 256) {
        self.kind = kind
        bytes = [0, 0, 0, 0, kind]
        bytes.reserveCapacity(capacity)
    }

    mutating func append(json value: some Encodable) throws(WireError) {
        do {
            bytes.append(contentsOf: try JSONEncoder().encode(value))
        } catch {
            throw .malformed(kind: kind, reason: "\(error)")
        }
    }

    mutating func append(_ configuration: CodecConfiguration, source: String) throws(WireError) {
        bytes.append(configuration.videoCodec == .h265 ? h265Track : configuration.track.rawValue)
        try append(name: source)
        bytes.append(contentsOf: configuration.bytes)
    }

    mutating func append(_ frame: EncodedFrame, source: String) throws(WireError) {
        bytes.append(frame.track.rawValue)
        bytes.append(frame.isIDR ? 1 : 0)
        bytes.appendBigEndian(frame.pts.nanoseconds)
        bytes.appendBigEndian(frame.dts.nanoseconds)
        try append(name: source)
        bytes.append(contentsOf: frame.payload)
    }

    private mutating func append(name: String) throws(WireError) {
        guard let length = UInt16(exactly: name.utf8.count) else {
            throw .malformed(kind: kind, reason: "a source's name is longer than 65535 bytes")
        }
        bytes.appendBigEndian(length)
        bytes.append(contentsOf: name.utf8)
    }

    consuming func finish() throws(WireError) -> [UInt8] {
        let length = bytes.count - 4
        guard length <= MessageReader<MixerCommand>.maximumLength else { throw .badLength(length) }
        bytes.setBigEndian(UInt32(length), at: 0)
        return bytes
    }
}

/// Value in place of the track's number in a configuration for H.265.
private let h265Track: UInt8 = 10

/// Reads the body of one message from front to back.
private struct WireParser {
    let kind: UInt8
    var body: ArraySlice<UInt8>

    func json<Value: Decodable>(_ type: Value.Type) throws(WireError) -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(body))
        } catch {
            throw .malformed(kind: kind, reason: "\(error)")
        }
    }

    mutating func configuration() throws(WireError) -> (String, CodecConfiguration) {
        let isH265 = body.first == h265Track
        if isH265 { body.removeFirst() }
        let track = try isH265 ? .video : track()
        let source = try name()
        let bytes = Array(body)
        return (
            source, isH265 ? CodecConfiguration(.h265, bytes: bytes) : CodecConfiguration(track: track, bytes: bytes)
        )
    }

    mutating func frame() throws(WireError) -> (String, EncodedFrame) {
        let track = try track()
        let flags = try integer(UInt8.self)
        let pts = MediaTime(nanoseconds: try integer(Int64.self))
        let dts = MediaTime(nanoseconds: try integer(Int64.self))
        let source = try name()
        let frame = EncodedFrame(track: track, pts: pts, dts: dts, isIDR: flags & 1 == 1, payload: Array(body))
        return (source, frame)
    }

    private mutating func track() throws(WireError) -> Track {
        let value = try integer(UInt8.self)
        guard let track = Track(rawValue: value) else {
            throw .malformed(kind: kind, reason: "\(value) is not the number of a track")
        }
        return track
    }

    private mutating func name() throws(WireError) -> String {
        let length = Int(try integer(UInt16.self))
        guard length <= body.count else { throw .malformed(kind: kind, reason: "the name is cut off") }
        defer { body = body.dropFirst(length) }
        guard let name = String(validating: body.prefix(length), as: UTF8.self) else {
            throw .malformed(kind: kind, reason: "the name is not UTF-8")
        }
        return name
    }

    private mutating func integer<Number: FixedWidthInteger>(_ type: Number.Type) throws(WireError) -> Number {
        guard let number = body.bigEndian(type, at: body.startIndex) else {
            throw .malformed(kind: kind, reason: "the header is cut off")
        }
        body = body.dropFirst(MemoryLayout<Number>.size)
        return number
    }
}
