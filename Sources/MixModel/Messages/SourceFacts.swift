import LayoutEngine

/// The facts about sources, reported by a relay, that affect plans. Pure.
public struct SourceFacts: Hashable, Codable, Sendable {
    /// Announced sources that do not arrive. They must not leave a hole in the picture of the others; when they arrive,
    /// they get their place.
    public private(set) var absent: Set<SourceID>
    /// Picture sizes of sources. The shape of a picture may require another arrangement.
    public private(set) var pictureSizes: [SourceID: LayoutParticipant.Size]
    /// Pictures per second of sources, at least 1. A canvas may follow them.
    public private(set) var frameRates: [SourceID: Int]

    public init(
        absent: Set<SourceID> = [], pictureSizes: [SourceID: LayoutParticipant.Size] = [:],
        frameRates: [SourceID: Int] = [:]
    ) {
        self.absent = absent
        self.pictureSizes = pictureSizes
        self.frameRates = frameRates
    }

    /// Creates the facts of a stored document. Those of earlier releases have no frame rates.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            absent: try container.decode(Set<SourceID>.self, forKey: .absent),
            pictureSizes: try container.decode([SourceID: LayoutParticipant.Size].self, forKey: .pictureSizes),
            frameRates: try container.decodeIfPresent([SourceID: Int].self, forKey: .frameRates) ?? [:])
    }

    private enum CodingKeys: CodingKey { case absent, pictureSizes, frameRates }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(absent, forKey: .absent)
        try container.encode(pictureSizes, forKey: .pictureSizes)
        if !frameRates.isEmpty { try container.encode(frameRates, forKey: .frameRates) }
    }

    /// Applies the facts in a status. Those of a relay that has no plan yet are not used: it knows no source.
    ///
    /// - Returns: The changes that require a new plan, in words; `nil` if there are none.
    public mutating func take(_ status: RelayStatus) -> String? {
        guard status.revision > 0 else { return nil }
        let before = self
        // A relay that has been restarted takes seconds to find out who is absent, so an absent source stays absent until
        // it delivers.
        let silent: Set<SourceStatus.State> = [.connecting, .recovering]
        absent = Set(
            status.sources.filter { source in
                source.isAbsent ?? false || before.absent.contains(source.id) && silent.contains(source.state)
            }.map(\.id))
        // A stream that is reconnecting keeps its shape.
        pictureSizes = Dictionary(
            status.sources.compactMap { source in
                (source.pictureSize ?? before.pictureSizes[source.id]).map { (source.id, $0) }
            }, uniquingKeysWith: { first, _ in first })
        frameRates = Dictionary(
            status.sources.compactMap { source in
                let former = before.frameRates[source.id]
                return (source.frameRate.map { Self.rate($0, after: former) } ?? former).map {
                    (source.id, $0)
                }
            }, uniquingKeysWith: { first, _ in first })
        guard self != before else { return nil }
        let gone = absent.subtracting(before.absent)
        let come = before.absent.subtracting(absent).intersection(status.sources.map(\.id))
        let turned = pictureSizes.filter { $0.value != before.pictureSizes[$0.key] }
        let paced = frameRates.filter { $0.value != before.frameRates[$0.key] }
        let changes =
            gone.sorted().map { "\($0) is absent" } + come.sorted().map { "\($0) has arrived" }
            + turned.sorted { $0.key < $1.key }.map { "video of \($0) is \($1.width)×\($1.height)" }
            + paced.sorted { $0.key < $1.key }.map { "\($0) has \($1) frames per second" }
        return changes.isEmpty ? nil : changes.joined(separator: ", ")
    }

    /// Forgets that other streams than these were absent, because they have ended: who publishes again is new.
    public mutating func keep(absent streams: some Sequence<SourceID>) { absent.formIntersection(streams) }

    /// Returns the whole frame rate that represents a measured one: the former one if it is close, so that a varying
    /// rate does not change the canvas.
    ///
    /// - Parameter measured: Pictures per second, finite.
    static func rate(_ measured: Double, after former: Int?) -> Int {
        if let former, abs(measured - Double(former)) <= max(1, Double(former) / 16) { return former }
        return Int(min(max(measured, 1), 240).rounded())
    }
}
