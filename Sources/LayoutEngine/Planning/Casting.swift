/// The assignment of people to an operator's panes.
struct Casting {
    typealias Role = (participant: LayoutParticipant, rank: Int)

    /// The person in each pane, by pane; `rank` is the position in the order of all people.
    private(set) var roles: [Role?]
    /// The people whom no pane shows, in order, as positions in the order of all people.
    private(set) var waiting: [Int]
    /// Names of sources that are in use; computed when first needed.
    private var sources: Set<String>?
    private let roster: Roster

    /// Assigns people to panes.
    ///
    /// Panes choose in this order: `user` panes, `role` panes that name a kind of stream, panes for a kind of stream
    /// alone, other `role` panes, then slots in ascending order. Among `user` panes, and among slots, those that name a
    /// kind of stream choose first.
    init(_ templates: [PaneTemplate], roster: Roster, people: [LayoutParticipant]) {
        self.roster = roster
        roles = Array(repeating: nil, count: templates.count)
        waiting = Array(people.indices)
        let order = templates.indices.sorted { left, right in
            (templates[left].urgency, left) < (templates[right].urgency, right)
        }
        for index in order {
            let template = templates[index]
            let places = waiting.indices.filter { template.matches(people[waiting[$0]]) }
            // A screen that is paused leaves the place to one that has a picture.
            let screen = template.stream == .screen ? places.first { people[waiting[$0]].hasVideo } : nil
            if let place = screen ?? places.first {
                let rank = waiting.remove(at: place)
                roles[index] = (people[rank], rank)
            } else if case .user = template.binding, let person = spare(for: template) {
                roles[index] = (person, people.count + index)
            }
        }
    }

    /// Returns a user without a picture for a `user` pane, which shows that user even if people without a picture are
    /// omitted.
    private func spare(for template: PaneTemplate) -> LayoutParticipant? {
        roster.people.first { person in
            !person.hasVideo && template.matches(person)
                && !roles.contains { $0?.participant.source == person.source }
        }
    }

    /// Returns the pane of an absent participant, or `nil` if their place stays empty.
    mutating func absentPane(
        _ index: Int, _ template: PaneTemplate, in rectangle: Rectangle, _ style: PaneStyle, on stage: Stage
    ) -> Pane? {
        guard style.fallback.absent != .nothing else { return nil }
        var (user, source) = ("", "pane-\(index + 1)")
        switch template.binding {
        case .user(let name):
            user = name
            source = "\(name)/…\(template.stream?.rawValue ?? "")"
        case .slot(let number): source = "slot-\(number)"
        case .role, .anybody: break
        }
        var taken = sources ?? Set(roster.all.map(\.source))
        sources = nil
        while !taken.insert(source).inserted { source += "…" }
        sources = taken
        return stage.pane(
            source: source, user: user, name: stage.names[user] ?? user, isLive: false, isMuted: false, in: rectangle,
            z: template.z, fit: style.fit,
            // No stream was ever shown here, so there is no last picture.
            fallback: style.fallback.absent == .lastFrame ? .card : style.fallback.absent, style)
    }
}

extension PaneTemplate {
    /// The pane's position in the order in which panes choose; smaller numbers choose first.
    fileprivate var urgency: Int {
        let isAnyKind = stream == nil ? 1 : 0
        return switch binding {
        case .user: isAnyKind
        case .role: 2 + isAnyKind * 2
        case .anybody: 3
        // Slots choose after all others; slots for one kind of stream choose first among them.
        case .slot(let number): 100 + isAnyKind * 100 + number
        }
    }
}
