import EncodedMedia
import MediaFormats
import MixModel

/// Previews of sources and of the program for operators without a player: the latest keyframe, and the audio of the
/// last quarter of a second. Nothing is decoded here, and no work is done without a request.
extension Relay {
    /// Number of AAC frames that suffice to measure a level, including those that a decoder needs to start.
    static let previewSound = 14

    /// Answers with an FLV stream, preceded by its length as four big-endian bytes; a length of 0 means that there is
    /// no preview.
    ///
    /// - Parameters:
    ///   - id: Source; `nil` for the program.
    ///   - hasPicture: Whether the keyframe is requested; otherwise the audio.
    func sendPreview(of id: SourceID?, hasPicture: Bool, on connection: Int) {
        guard let channel = connections[connection]?.channel else { return }
        guard connections[connection]?.role != .viewer, connections[connection]?.role != .control else {
            // The bytes of the answer would mix with those of the other kind.
            return disconnected(connection)
        }
        connections[connection]?.role = .preview
        let flv = id.map { preview(of: $0, hasPicture: hasPicture) } ?? programPreview(hasPicture: hasPicture)
        let bytes = flv.count <= PreviewRequest.longest ? flv : []
        guard channel.pendingBytes < Connection.viewerLimit else { return disconnected(connection) }
        channel.send(PreviewWire.bytes(of: bytes.count) + bytes)
    }

    private func programPreview(hasPicture: Bool) -> [UInt8] {
        let group = program.currentGOP
        let picture = group.first { $0.isIDR }
        let sound = group.last(Relay.previewSound) { $0.kind == .audio }
        let tags = hasPicture ? [picture].compactMap(\.self) : sound
        guard !tags.isEmpty else { return [] }
        return FLVTag.fileHeader(of: splicer.tracks) + (program.preamble + tags).flatMap(\.encoded)
    }

    private func preview(of id: SourceID, hasPicture: Bool) -> [UInt8] {
        guard let timeline = sources[id]?.timeline else { return [] }
        let group = timeline.currentGOP
        let frames =
            hasPicture
            ? [group.first { $0.isIDR }].compactMap(\.self)
            : group.last(Relay.previewSound) { $0.track == .audio }
        guard !frames.isEmpty else { return [] }
        var writer = FLVProgram()
        var tags: [FLVTag] = []
        for configuration in [timeline.video, timeline.audio].compactMap(\.self) {
            tags += writer.configure(configuration)
        }
        for frame in frames { tags += writer.write(frame) }
        return FLVTag.fileHeader + tags.flatMap(\.encoded)
    }
}

extension Array {
    /// Returns the last elements with a property, at most `most`, in order.
    fileprivate func last(_ most: Int, where isWanted: (Element) -> Bool) -> [Element] {
        var found: [Element] = []
        for element in reversed() where isWanted(element) {
            found.append(element)
            if found.count == most { break }
        }
        return found.reversed()
    }
}
