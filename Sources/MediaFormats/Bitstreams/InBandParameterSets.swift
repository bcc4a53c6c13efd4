import EncodedMedia

/// Follows the parameter sets that a stream carries in its pictures, for publishers that change them without a new
/// sequence header: a consumer that reads only headers would continue with the old ones.
///
/// A value that belongs to one connection.
package struct InBandParameterSets: Sendable {
    /// The last sequence header.
    private var header: CodecConfiguration?
    /// The configuration made from in-band sets, while it is in force.
    private var made: CodecConfiguration?
    private var record: VideoConfiguration?

    package init() {}

    /// Returns whether a sequence header only repeats parameter sets that in-band sets have replaced. Such a header
    /// must not be passed on.
    package mutating func supersedes(_ item: MediaItem) -> Bool {
        guard case .configuration(let configuration) = item, configuration.track == .video else { return false }
        if made != nil, configuration == header { return true }
        header = configuration
        made = nil
        record = VideoConfiguration(configuration)
        return false
    }

    /// Returns the configuration that is in force from this item on; `nil` if it stays the same.
    ///
    /// Only keyframes change it, by a sequence parameter set that the configuration in force lacks. A keyframe without
    /// parameter sets returns to the header.
    package mutating func configuration(before item: MediaItem) -> CodecConfiguration? {
        guard case .frame(let frame) = item, frame.isIDR, let record, let header else { return nil }
        let sets = NALUnits(frame.payload, lengthSize: record.lengthSize).compactMap { unit in
            Self.kind(unit, record.codec).map { (kind: $0, unit: Array(unit)) }
        }
        let known = NALUnits(record.parameterSets).map { Array($0) }
        let main = sets.filter { $0.kind == .sequence }
        guard !main.isEmpty else {
            guard made != nil else { return nil }
            made = nil
            self.record = VideoConfiguration(header)
            return header
        }
        guard !main.allSatisfy({ known.contains($0.unit) }) else { return nil }
        // Sets that are not in band stay.
        let kept = NALUnits(record.parameterSets).compactMap { unit in
            Self.kind(unit, record.codec).map { (kind: $0, unit: Array(unit)) }
        }.filter { old in !sets.contains { $0.kind == old.kind } }
        let current = made ?? header
        guard let bytes = Self.record(of: sets + kept, like: current, record), let codec = current.videoCodec else {
            return nil
        }
        let configuration = CodecConfiguration(codec, bytes: bytes)
        guard let read = VideoConfiguration(configuration), read.sequenceParameters != nil else { return nil }
        (made, self.record) = (configuration, read)
        return configuration
    }

    /// The kinds of parameter set, in the order of records.
    private enum Kind: UInt8, CaseIterable {
        case video = 32
        case sequence = 33
        case picture = 34
    }

    private static func kind(_ unit: ArraySlice<UInt8>, _ codec: VideoCodec) -> Kind? {
        guard let first = unit.first else { return nil }
        switch codec {
        case .h264: return first & 0x1F == 7 ? .sequence : first & 0x1F == 8 ? .picture : nil
        case .h265: return Kind(rawValue: first >> 1 & 0x3F)
        }
    }

    /// Returns a configuration record of these sets (ISO/IEC 14496-15 §5.3.3.1, §8.3.3.1); `nil` if there are too many,
    /// or one is truncated.
    private static func record(
        of sets: [(kind: Kind, unit: [UInt8])], like old: CodecConfiguration, _ record: VideoConfiguration
    ) -> [UInt8]? {
        guard sets.count < 32, sets.allSatisfy({ $0.unit.count < 1 << 16 }),
            let first = sets.first(where: { $0.kind == .sequence })?.unit
        else { return nil }
        func list(_ kind: Kind, countBytes: Int, countFlags: Int) -> [UInt8] {
            let units = sets.filter { $0.kind == kind }.map(\.unit)
            var bytes: [UInt8] = []
            bytes.appendBigEndian(units.count | countFlags, bytes: countBytes)
            for unit in units {
                bytes.appendBigEndian(unit.count, bytes: 2)
                bytes += unit
            }
            return bytes
        }
        var bytes: [UInt8] = [1]
        switch record.codec {
        case .h264:
            guard first.count >= 4 else { return nil }
            bytes += first[1...3]
            bytes.append(0xFC | UInt8(record.lengthSize - 1))
            bytes += list(.sequence, countBytes: 1, countFlags: 0xE0)
            bytes += list(.picture, countBytes: 1, countFlags: 0)
            // High profiles repeat these fields; no extensions of the SPS follow.
            if let chroma = SequenceParameterSet.Chroma(nalUnit: first) {
                bytes.append(0xFC | UInt8(chroma.format & 3))
                bytes.append(0xF8 | UInt8(chroma.lumaDepth & 7))
                bytes.append(0xF8 | UInt8(chroma.chromaDepth & 7))
                bytes.append(0)
            }
        case .h265:
            let parameters = BitReader.payload(of: first)
            guard parameters.count >= 15, old.bytes.count >= 23 else { return nil }
            // Profile, tier and level come from the set (ITU-T H.265 §7.3.3).
            bytes += parameters[3..<15]
            bytes += old.bytes[13..<22]
            bytes.append(UInt8(Kind.allCases.count))
            for kind in Kind.allCases {
                bytes.append(0x80 | kind.rawValue)
                bytes += list(kind, countBytes: 2, countFlags: 0)
            }
        }
        return bytes
    }
}
