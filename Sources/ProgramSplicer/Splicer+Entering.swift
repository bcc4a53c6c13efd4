import EncodedMedia

/// Splices from the mixer to a source.
extension Splicer {
    /// Returns whether the program has already shown the time of an IDR that would take over.
    ///
    /// If a mix shows a source later, the later time counts. A single late IDR may be a hiccup. A source that is late
    /// again stays late (its mix does not wait for it either) and takes over at the time that the program has reached.
    mutating func isTooLate(_ idr: EncodedFrame, of feed: SpliceInput) -> Bool {
        guard let last = lastVideo, idr.pts <= last else { return false }
        guard case .source = feed, !isOnAirGone else { return true }
        if hasRate(of: feed), idr.pts + delay(of: feed) > last + interval(of: feed) / 2 { return false }
        defer { hasMissedIDR = true }
        return !hasMissedIDR
    }

    /// Returns the distance below which the last frame of the old feed and the first of `feed` count as the same frame.
    func nearness(to feed: SpliceInput?) -> MediaTime {
        hasRate(of: feed) ? interval(of: onAir) / 2 : Splicer.noise
    }

    mutating func enterIfReached(now: MediaTime) -> [Action] {
        guard case .entering(_, let time, _, _) = pending else { return [] }
        let next = lastVideo.map { $0 + interval(of: onAir) }
        let reached = next.map { $0 >= time + delay(of: target) - nearness(to: target) } ?? true
        return reached || isOnAirGone ? enter(now: now) : []
    }

    mutating func enter(now: MediaTime) -> [Action] {
        guard case .entering(let feed, let time, var held, _) = pending else { return [] }
        pending = nil
        var actions: [Action] = []
        let shift = gridShift(of: feed, to: time)
        if shift != .zero, case .source(let source) = feed {
            held = held.map { $0.shifted(by: shift) }
            move(feed, by: shift)
            actions.append(.shift(source, by: shift))
        }
        return actions + begin(feed, with: held, now: now)
    }

    /// Returns the amount by which a source with another frame grid is moved so that its IDR at `time` follows the last
    /// frame after one interval, to the millisecond of its timestamps. Audio and video move alike, so A/V sync stays as
    /// it is.
    private func gridShift(of feed: SpliceInput, to time: MediaTime) -> MediaTime {
        guard let last = lastVideo, case .source = feed else { return .zero }
        let interval = interval(of: feed)
        let shift = last + interval - time
        // In any case, no frame can be shown before the last one that was shown.
        guard time > last else { return shift.rounded }
        guard hasRate(of: feed), !isOnAirGone else { return .zero }
        let isNoise = shift.magnitude <= Splicer.step
        let rest = shift - delay(of: feed)
        let isOneFrame = rest > -interval * 6 / 10 && rest < interval * 11 / 10
        return isNoise || !isOneFrame ? .zero : shift.rounded
    }

    /// Returns the time by which the mixer on air shows `feed` later than at its own times.
    func delay(of feed: SpliceInput?) -> MediaTime {
        guard case .source(let source) = feed, let onAir else { return .zero }
        return feeds[onAir]?.delays[source] ?? .zero
    }
}
