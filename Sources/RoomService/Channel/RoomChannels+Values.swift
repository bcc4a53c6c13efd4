import EncodedMedia
import Foundation
import LayoutEngine
import MixModel
import RoomChannel

/// Channel values in the pictures of programs: viewers, likes and the newest comment, where a layout on air shows them.
extension RoomChannels {
    /// Opens the channels of rooms whose layouts have begun to show values, and updates rooms whose values are due.
    func refreshValues() async {
        let values = registry.services.values
        guard values.isAnyShown else { return }
        for room in values.takeNew() { await openForValues(room) }
        endComments()
        for room in values.takeDue(at: MonotonicClock.now()) { registry.showValues(of: room) }
    }

    /// Removes comments that have been in the picture for long enough. Checks once a second.
    private func endComments() {
        let now = MonotonicClock.now()
        guard settings.commentSeconds > 0, now >= commentsDueAt else { return }
        commentsDueAt = now.saturatingSum(1_000_000_000)
        let values = registry.services.values
        for room in values.rooms where values.shown(in: room).contains(.comment) {
            if let channel = channels[room] { shareValues(of: channel) }
        }
    }

    /// Reopens channels that had to be closed, if there is room for them.
    func openMissingForValues() async {
        guard registry.services.values.isAnyShown else { return }
        for room in registry.services.values.rooms where channels[room] == nil { await openForValues(room) }
    }

    private func openForValues(_ room: RoomID) async {
        if let channel = channels[room] { return shareValues(of: channel) }
        // A channel for a picture takes no place from viewers.
        guard settings.channelShares.hasPlace(for: room.app, taken: channelsOfApps) else { return }
        do {
            shareValues(of: try await channel(of: room))
        } catch {
            // The room is gone, or the store cannot be read: the next round finds out.
        }
    }

    /// Sends the room its channel's values if a layout on air shows them.
    func shareValues(of channel: OpenChannel) {
        let values = registry.services.values
        let shown = values.shown(in: channel.room)
        guard !shown.isEmpty else { return }
        let oldest =
            settings.commentSeconds > 0
            ? Int64(saturating: Date().timeIntervalSince1970 * 1000) - Int64(settings.commentSeconds) * 1000 : .min
        values.set(channel.machine.shownValues(shown, commentsSince: oldest), of: channel.room)
    }
}

extension ChannelMachine {
    /// Maximum number of characters and bytes drawn of a sender's name, and of a comment.
    static let drawnName = (characters: 24, bytes: 96)
    static let drawnText = (characters: 120, bytes: 360)

    /// Returns the values for the picture; values that are not shown are left out.
    ///
    /// - Parameter oldest: Time in ms since 1970 before which comments are no longer shown.
    func shownValues(_ names: LayoutValues.Names, commentsSince oldest: Int64 = .min) -> LayoutValues {
        LayoutValues(
            viewers: audience.count, likes: Int(clamping: likes),
            comment: names.contains(.comment) ? drawnComment(since: oldest) : nil
        ).only(names)
    }

    /// Returns the newest comment with its sender, made fit for drawing; `nil` if there is none.
    private func drawnComment(since oldest: Int64) -> String? {
        for message in history.messages.reversed() where message.kind == .comment {
            guard message.sentAt >= oldest else { return nil }
            let text = ForeignText.line(
                message.text ?? "", characters: Self.drawnText.characters, bytes: Self.drawnText.bytes)
            guard !text.isEmpty else { continue }
            let name = ForeignText.line(
                message.name ?? message.user?.rawValue ?? "", characters: Self.drawnName.characters,
                bytes: Self.drawnName.bytes)
            return name.isEmpty ? text : "\(name): \(text)"
        }
        return nil
    }
}
