/// Turns a template into panes: rectangles in pixels and their content.
struct Stage {
    let canvas: Canvas
    /// Display names of users.
    let names: [String: String]

    private var shorterSide: Int { min(canvas.width, canvas.height) }

    /// Returns panes for as many of these people, starting with the first one, as fit into the rectangle.
    func panes(
        _ people: some Collection<LayoutParticipant>, by algorithm: Algorithm, in area: Rectangle, z: Int,
        _ settings: ArrangementSettings
    ) -> [Pane] {
        let space = LayoutSpace(canvas, area: area, gap: settings.gap, margin: settings.margin)
        return zip(people, algorithm.tiles(among: people.count, in: space)).map { person, tile in
            pane(person, in: tile.rectangle, z: z + tile.level, settings.style)
        }
    }

    /// Returns the panes written by an operator and those of the rest, from back to front.
    func panes(
        _ templates: [PaneTemplate], rest: Arrangement.Rest?, roster: Roster, people: [LayoutParticipant],
        _ settings: ArrangementSettings
    ) -> [Pane] {
        var casting = Casting(templates, roster: roster, people: people)
        var panes: [Pane] = []
        // Panes of equal `z` are in the order in which places are assigned.
        var order: [(z: Int, rank: Int, index: Int)] = []
        for (index, template) in templates.enumerated().prefix(LayoutLimits.mostPanes) {
            let style = template.style ?? settings.style
            guard let rectangle = Rectangle(template.area, on: canvas) else { continue }
            if let role = casting.roles[index] {
                panes.append(pane(role.participant, in: rectangle, z: template.z, style))
                order.append((template.z, role.rank, order.count))
            } else if let pane = casting.absentPane(index, template, in: rectangle, style, on: self) {
                panes.append(pane)
                order.append((template.z, people.count + index, order.count))
            }
        }
        if let rest, let area = Rectangle(rest.area, on: canvas) {
            let others = casting.waiting.map { people[$0] }
                .prefix(rest.featured, first: LayoutLimits.mostPanes - panes.count)
            panes += self.panes(others, by: rest.algorithm, in: area, z: rest.z, rest.settings)
            for index in order.count..<panes.count {
                order.append((panes[index].z, people.count + templates.count + index, index))
            }
        }
        return order.sorted { $0.z != $1.z ? $0.z < $1.z : $0.rank < $1.rank }.map { panes[$0.index] }
    }

    private func pane(_ person: LayoutParticipant, in rectangle: Rectangle, z: Int, _ style: PaneStyle) -> Pane {
        // The style is passed on as it is: copying it for each pane would retain and release all of its texts.
        pane(
            source: person.source, user: person.user, name: person.name ?? names[person.user] ?? person.user,
            isLive: person.hasVideo, isMuted: !person.hasAudio && person.kind != .screen, in: rectangle, z: z,
            fit: person.kind == .screen ? style.screenFit ?? style.fit : style.fit,
            fallback: person.hasVideo ? style.fallback.stalled : style.fallback.cameraOff, style)
    }

    /// Returns the pane of a stream. `fit` and `fallback` override those of the style.
    func pane(
        source: String, user: String, name: String, isLive: Bool, isMuted: Bool, in rectangle: Rectangle, z: Int,
        fit: Pane.Fit, fallback: Pane.Fallback, _ style: PaneStyle
    ) -> Pane {
        func border(_ style: PaneStyle.BorderStyle) -> Pane.Border? {
            Pane.Border(width: style.width.evenPixels(of: shorterSide), colour: style.colour, in: rectangle)
        }
        // A card already shows the name.
        let isCard = !isLive && fallback == .card
        let label = isCard || name.isEmpty ? nil : style.label.map { self.label(name, isMuted: isMuted, $0) }
        // A pane as large as the canvas has no surroundings, so it gets no corners, and no ring that distinguishes it
        // from other panes.
        let isWhole = rectangle == Rectangle(canvas)
        let radius =
            isWhole ? 0 : min(style.radius.evenPixels(of: shorterSide), min(rectangle.width, rectangle.height) / 2)
        return Pane(
            source: source, user: user, x: rectangle.x, y: rectangle.y, width: rectangle.width,
            height: rectangle.height, z: z, fit: fit, align: style.align, opacity: style.opacity,
            border: style.border.flatMap(border), label: label.flatMap { $0.fits(in: rectangle) ? $0 : nil },
            isLive: isLive,
            fallback: fallback, card: Card(name: name, user: user, style: style.card == .flat ? nil : style.card),
            cardAfter: style.fallback.cardAfter == Pane.usualCardAfter ? nil : style.fallback.cardAfter,
            dropAfter: style.fallback.dropAfter == Pane.usualDropAfter ? nil : style.fallback.dropAfter,
            radius: radius > 0 ? radius : nil, shadow: isWhole ? nil : style.shadow.map { $0.shadow(on: shorterSide) },
            speaking: isWhole ? nil : style.speaking.flatMap(border),
            surround: fit == .contain ? style.surround.map { $0.surround(on: shorterSide) } : nil,
            reconnecting: style.fallback.reconnecting == Pane.usualReconnecting ? nil : style.fallback.reconnecting)
    }

    private func label(_ name: String, isMuted: Bool, _ style: PaneStyle.LabelStyle) -> Label {
        Label(
            text: name, edge: style.edge, side: style.side, size: max(style.size.pixels(of: shorterSide), 1),
            colour: style.colour, background: style.background, backgroundOpacity: style.backgroundOpacity,
            style: style.style == .bar ? nil : style.style, isMuted: isMuted && style.marksMuted ? true : nil,
            font: style.font == Font() ? nil : style.font)
    }
}

extension Array<LayoutParticipant> {
    /// Returns the first `count` people, starting with the featured one.
    func prefix(_ featured: StreamSelector?, first count: Int) -> [LayoutParticipant] {
        guard let featured, let index = firstIndex(where: featured.matches), index > 0 else {
            return Array(prefix(Swift.max(count, 0)))
        }
        var people = self
        people.insert(people.remove(at: index), at: 0)
        return Array(people.prefix(Swift.max(count, 0)))
    }
}

extension Pane.Border {
    /// Creates a border as wide as this rectangle allows; `nil` if there is no room for 2 pixels.
    init?(width: Int, colour: RGB, in rectangle: Rectangle) {
        let width = min(width, 64, min(rectangle.width, rectangle.height) / 4) & ~1
        guard width >= 2 else { return nil }
        self.init(width: width, colour: colour)
    }
}

extension PaneStyle.ShadowStyle {
    fileprivate func shadow(on shorter: Int) -> Shadow {
        Shadow(
            blur: min(blur.evenPixels(of: shorter), Shadow.mostBlur), offset: offset.evenPixels(of: shorter),
            colour: colour, opacity: opacity)
    }
}

extension PaneStyle.SurroundStyle {
    fileprivate func surround(on shorter: Int) -> Surround {
        Surround(blur: min(blur.pixels(of: shorter), Surround.mostBlur), dim: dim)
    }
}

extension Label {
    /// Returns whether the bar leaves two thirds of the pane free, and has room for more than one or two letters.
    func fits(in rectangle: Rectangle) -> Bool {
        size <= rectangle.height / 6 && size <= rectangle.width / 4
    }
}
