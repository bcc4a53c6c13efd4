import LayoutEngine

/// The facts about sources, reported by a relay, that matter to plans. Pure.
public struct SourceFacts: Hashable, Codable, Sendable {
    /// Announced sources that do not arrive. They must not leave a hole in the picture of the others; when they arrive,
    /// they get their place.
    public private(set) var absent: Set<SourceID>
    /// Picture sizes of sources. The shape of a picture may call for another arrangement.
    public private(set) var pictureSizes: [SourceID: LayoutParticipant.Size]

    public init(absent: Set<SourceID> = [], pictureSizes: [SourceID: LayoutParticipant.Size] = [:]) {
        self.absent = absent
        self.pictureSizes = pictureSizes
    }

    /// Applies what a status reports.
    ///
    /// - Returns: The changes that call for a new plan, in words; `nil` if there are none.
    public mutating func take(_ status: RelayStatus) -> String? {
        let before = self
        absent = Set(status.sources.filter { $0.isAbsent ?? false }.map(\.id))
        // A stream that is reconnecting keeps its shape.
        pictureSizes = Dictionary(
            status.sources.compactMap { source in
                (source.pictureSize ?? before.pictureSizes[source.id]).map { (source.id, $0) }
            }, uniquingKeysWith: { first, _ in first })
        guard self != before else { return nil }
        let gone = absent.subtracting(before.absent)
        let come = before.absent.subtracting(absent).intersection(status.sources.map(\.id))
        let turned = pictureSizes.filter { $0.value != before.pictureSizes[$0.key] }
        let changes =
            gone.sorted().map { "\($0) is absent" } + come.sorted().map { "\($0) has arrived" }
            + turned.sorted { $0.key < $1.key }.map { "video of \($0) is \($1.width)×\($1.height)" }
        return changes.isEmpty ? nil : changes.joined(separator: ", ")
    }
}
