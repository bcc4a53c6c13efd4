import LayoutEngine

/// What a relay told of the sources that matters to plans. Pure.
public struct SourceFacts: Hashable, Codable, Sendable {
    /// Who was announced and does not come: they must not leave a hole in the picture of the others. When they come it is
    /// theirs.
    public private(set) var absent: Set<SourceID>
    /// The shape of somebody's picture may choose another arrangement.
    public private(set) var pictureSizes: [SourceID: LayoutParticipant.Size]

    public init(absent: Set<SourceID> = [], pictureSizes: [SourceID: LayoutParticipant.Size] = [:]) {
        self.absent = absent
        self.pictureSizes = pictureSizes
    }

    /// Takes over what a status says.
    ///
    /// - Returns: What is different and calls for a new plan, in words; `nil` when nothing does.
    public mutating func take(_ status: RelayStatus) -> String? {
        let before = self
        absent = Set(status.sources.filter { $0.isAbsent ?? false }.map(\.id))
        // A stream that is being connected again keeps its shape.
        pictureSizes = Dictionary(
            status.sources.compactMap { source in
                (source.pictureSize ?? before.pictureSizes[source.id]).map { (source.id, $0) }
            }, uniquingKeysWith: { first, _ in first })
        guard self != before else { return nil }
        let gone = absent.subtracting(before.absent)
        let come = before.absent.subtracting(absent).intersection(status.sources.map(\.id))
        let turned = pictureSizes.filter { $0.value != before.pictureSizes[$0.key] }
        let changes =
            gone.sorted().map { "\($0) does not come" } + come.sorted().map { "\($0) has come" }
            + turned.sorted { $0.key < $1.key }.map { "pictures of \($0) are \($1.width)×\($1.height)" }
        return changes.isEmpty ? nil : changes.joined(separator: ", ")
    }
}
