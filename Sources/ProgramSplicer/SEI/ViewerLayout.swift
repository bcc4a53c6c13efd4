import MediaFormats
import MixModel

/// The layout on air as a script tag for viewers, also of programs whose pictures carry no SEI messages. Pure.
///
/// A tag is made only when the layout changes. Volumes change all the time, and so are not a change.
public struct ViewerLayout: Sendable {
    /// Largest number of participants in a tag. Those in the picture come first.
    package static let mostRegions = 64

    /// The tag of the current layout; `nil` before the first.
    public private(set) var tag: FLVTag?
    private var picture: SEILayout.Picture?
    private var people: [SourceID: SEILayout.Person] = [:]
    private var hasVolumes = false
    /// The current layout without volumes.
    private var layout: SEILayout?

    public init() {}

    /// Records the picture on air.
    ///
    /// - Parameters:
    ///   - people: The publishers by source.
    ///   - volumes: Volumes by source, 0…255; `nil` if nothing measures them, for a layout without volumes.
    ///   - timestamp: Timestamp in ms of the frame that comes next.
    ///   - isEntry: Whether another feed can begin with the frame. One step of the splicer may contain the last pictures
    ///     of a feed and the first of the next one; the next one's layout waits for its keyframe.
    ///   - wallClock: Time of the frame in ms since 1970. Called only for a new layout.
    /// - Returns: The tag of a new layout; `nil` if the layout has not changed.
    public mutating func note(
        _ picture: SEILayout.Picture, people: [SourceID: SEILayout.Person] = [:], volumes: [SourceID: Int]?,
        at timestamp: UInt32, isEntry: Bool, wallClock: () -> Int64
    ) -> FLVTag? {
        guard picture != self.picture || people != self.people || (volumes != nil) != hasVolumes else { return nil }
        guard isEntry || picture.isOfSameFeed(as: self.picture) else { return nil }
        let hadVolumes = hasVolumes
        self.picture = picture
        self.people = people
        hasVolumes = volumes != nil
        var stated = SEILayout(picture, volumes: volumes ?? [:], people: people, at: wallClock())
        stated.regions = Array(stated.regions.prefix(Self.mostRegions))
        var silent = stated
        for index in silent.regions.indices { silent.regions[index].volume = nil }
        // Much of a scene is not part of the layout.
        let isSame = silent.canvas == layout?.canvas && silent.regions == layout?.regions && hasVolumes == hadVolumes
        guard !isSame else { return nil }
        layout = silent
        let text = hasVolumes ? stated.json : silent.json
        let tag = FLVCue(name: FLVCue.layout, text: text).tag(at: timestamp)
        self.tag = tag
        return tag
    }

    /// Returns the tags with which a viewer begins, and the current layout among them: before the frame with which it
    /// came, or before the first one if it is older.
    ///
    /// - Parameters:
    ///   - headers: Metadata and sequence headers; empty if the program has not begun.
    ///   - group: The frames since the last keyframe.
    public func inserted(between headers: [FLVTag], and group: [FLVTag]) -> [FLVTag] {
        guard var tag, let first = group.first ?? headers.last else { return headers + group }
        if tag.timestamp.isBefore(first.timestamp) { tag.timestamp = first.timestamp }
        let place = group.firstIndex { !$0.timestamp.isBefore(tag.timestamp) } ?? group.count
        var tags = headers + group
        tags.insert(tag, at: headers.count + place)
        return tags
    }
}

extension SEILayout.Picture {
    fileprivate func isOfSameFeed(as other: SEILayout.Picture?) -> Bool {
        switch (self, other) {
        case (.bypass(let source, _), .bypass(let before, _)): source == before
        case (.mix, .mix): true
        case (.bypass, _), (.mix, _): false
        }
    }
}

extension UInt32 {
    /// Returns whether this timestamp in ms is before another one. Timestamps wrap at 2³².
    fileprivate func isBefore(_ other: UInt32) -> Bool { Int32(bitPattern: self &- other) < 0 }
}
