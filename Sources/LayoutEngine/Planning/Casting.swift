/// Who plays which of an operator's panes.
struct Casting {
    typealias Role = (participant: LayoutParticipant, rank: Int)

    /// By pane; `rank` is the place in the order of all people.
    private(set) var roles: [Role?]
    /// Those whom no pane shows, in order, as places in the order of all people.
    private(set) var waiting: [Int]
    /// Names that are taken, once somebody asks.
    private var sources: Set<String>?
    private let roster: Roster

    /// `user` panes choose first, then `role` panes, then those for a kind of stream, then slots in ascending order;
    /// among equals those that name a kind of stream.
    init(_ templates: [PaneTemplate], roster: Roster, people: [LayoutParticipant]) {
        self.roster = roster
        roles = Array(repeating: nil, count: templates.count)
        waiting = Array(people.indices)
        let order = templates.indices.sorted { left, right in
            (templates[left].urgency, left) < (templates[right].urgency, right)
        }
        for index in order {
            let template = templates[index]
            if let place = waiting.firstIndex(where: { template.matches(people[$0]) }) {
                let rank = waiting.remove(at: place)
                roles[index] = (people[rank], rank)
            } else if case .user = template.binding, let person = spare(for: template) {
                roles[index] = (person, people.count + index)
            }
        }
    }

    /// A user whom a pane asks for by name is shown there even where people without a picture are omitted.
    private func spare(for template: PaneTemplate) -> LayoutParticipant? {
        roster.people.first { person in
            !person.hasVideo && template.matches(person)
                && !roles.contains { $0?.participant.source == person.source }
        }
    }

    /// The pane of somebody who is not there; `nil` where nothing shall be shown for them.
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
        var taken = sources ?? Set(roster.everybody.map(\.source))
        sources = nil
        while !taken.insert(source).inserted { source += "…" }
        sources = taken
        return stage.pane(
            source: source, user: user, name: stage.names[user] ?? user, isLive: false, in: rectangle, z: template.z,
            // Nobody was ever seen here, so there is no last picture.
            fallback: style.fallback.absent == .lastFrame ? .card : style.fallback.absent, style)
    }
}

extension PaneTemplate {
    /// Smaller numbers choose first.
    fileprivate var urgency: Int {
        let isAnyKind = stream == nil ? 1 : 0
        return switch binding {
        case .user: isAnyKind
        case .role: 2 + isAnyKind * 2
        case .anybody: 3
        // Behind all others, slots of one kind first.
        case .slot(let number): 100 + isAnyKind * 100 + number
        }
    }
}
