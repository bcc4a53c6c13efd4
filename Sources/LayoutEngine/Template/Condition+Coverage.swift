extension Condition {
    /// Returns whether earlier arrangements cover every situation in which this condition holds.
    ///
    /// The result is sound but not complete: true is proven, so an arrangement that could be used is never called
    /// unreachable.
    ///
    /// - Parameters:
    ///   - omitsAudioOnly: The arrangement's setting; it determines what the condition counts.
    ///   - earlier: The arrangements before this one.
    ///   - canvas: The canvas' orientation, if the template fixes it.
    func isCovered(by earlier: [Arrangement], omitsAudioOnly: Bool, canvas: Orientation?) -> Bool {
        var left = [Box(self, on: canvas)]
        for arrangement in earlier {
            let other = arrangement.when
            let isComparable =
                arrangement.settings.omitsAudioOnly == omitsAudioOnly
                || [other.people, other.hosts, other.guests].allSatisfy { $0 == Self.any }
            guard isComparable else { continue }
            let box = Box(other, on: canvas)
            left = left.flatMap { $0.subtracting(box) }
            // Each arrangement can split the remainder into many parts. The search stops at a number that no operator's
            // mistake reaches.
            guard !left.isEmpty, left.count <= 2000 else { break }
        }
        return left.isEmpty
    }

    /// Returns the reason why no room can ever meet the condition; `nil` if a room can.
    func contradiction(omitsAudioOnly: Bool, canvas fixed: Orientation?) -> String? {
        let persons = hosts.lowerBound + guests.lowerBound
        if persons > people.upperBound {
            return "at least \(persons) hosts and guests among at most \(people.upperBound) people"
        }
        if !omitsAudioOnly, audioOnly.lowerBound > people.upperBound {
            return "at least \(audioOnly.lowerBound) audio-only among at most \(people.upperBound) people"
        }
        if screen == true, people.upperBound == 0 { return "a screen in an empty room" }
        if let fixed, let canvas, canvas != fixed {
            return "canvas \"\(canvas.rawValue)\" in a file with a \(fixed.rawValue) canvas"
        }
        return nil
    }
}

/// The situations in which a condition holds: a range or a set of choices in each dimension.
private struct Box {
    /// Ranges of people, hosts, guests and audio-only people. Numbers beyond any limit that a file may contain are
    /// equivalent.
    var ranges: [ClosedRange<Int>]
    /// Bit sets of the choices for screen, canvas and sources.
    var choices: [UInt8]

    init(_ condition: Condition, on canvas: Orientation?) {
        let limit = LayoutLimits.mostPeople + 1
        ranges = [condition.people, condition.hosts, condition.guests, condition.audioOnly]
            .map { min($0.lowerBound, limit)...min($0.upperBound, limit) }
        func set<Choice: CaseIterable & Equatable>(_ choice: Choice?, of all: Choice.AllCases) -> UInt8 {
            all.enumerated().reduce(0) { choice ?? $1.element == $1.element ? $0 | 1 << UInt8($1.offset) : $0 }
        }
        choices = [
            condition.screen.map { $0 ? 1 : 2 } ?? 3,
            set(condition.canvas ?? canvas, of: Orientation.allCases),
            set(condition.sources, of: Condition.SourceShape.allCases),
        ]
    }

    /// Returns the rest of this box without the other, as boxes that do not overlap.
    func subtracting(_ other: Box) -> [Box] {
        let meets =
            zip(ranges, other.ranges).allSatisfy { $0.overlaps($1) }
            && zip(choices, other.choices).allSatisfy { $0 & $1 != 0 }
        guard meets else { return [self] }
        var parts: [Box] = []
        var inner = self
        for (index, range) in other.ranges.enumerated() {
            let own = inner.ranges[index]
            if own.lowerBound < range.lowerBound {
                var part = inner
                part.ranges[index] = own.lowerBound...(range.lowerBound - 1)
                parts.append(part)
            }
            if own.upperBound > range.upperBound {
                var part = inner
                part.ranges[index] = (range.upperBound + 1)...own.upperBound
                parts.append(part)
            }
            inner.ranges[index] = own.clamped(to: range)
        }
        for (index, set) in other.choices.enumerated() {
            if inner.choices[index] & ~set != 0 {
                var part = inner
                part.choices[index] &= ~set
                parts.append(part)
            }
            inner.choices[index] &= set
        }
        return parts
    }
}
