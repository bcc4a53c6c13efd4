import EncodedMedia
import GStreamerKit
import LayoutEngine
import MixModel

/// The graphics drawn for one pane in addition to its source's pictures.
struct PaneGraphics: Sendable {
    var card: Graphic?
    var label: Graphic?
}

// MARK: - Required graphics
extension MixState {
    /// Returns whether a graphic of the scene is still being drawn. Orders those that are missing.
    ///
    /// - Parameter since: Program time since which the mix has waited for the scene.
    mutating func isAwaitingGraphics(
        of scene: Scene, now: MediaTime, clock: Int, waitingSince since: MediaTime
    ) -> Bool {
        // The list is made first, so that all graphics are ordered, not only those up to the first missing one.
        let needed = graphics(of: scene, now: now, clock: clock, waitingSince: since)
        for graphic in needed { _ = shelf.still(graphic, tick: nextTick) }
        return needed.contains { shelf.isAwaited($0) }
    }

    private func graphics(of scene: Scene, now: MediaTime, clock: Int, waitingSince since: MediaTime) -> [Graphic] {
        var needed: [Graphic] = []
        if let background = scene.background { needed.append(.backdrop(background)) }
        for pane in scene.panes {
            if needsFallback(pane, now: now, waitingSince: since) { needed += fallbackGraphics(of: pane, now: now) }
            if let label = Graphic(labelOf: pane) { needed.append(label) }
        }
        return needed + scene.overlays.compactMap { Graphic($0, time: clock) }
    }

    private func needsFallback(_ pane: Pane, now: MediaTime, waitingSince since: MediaTime?) -> Bool {
        guard pane.isLive else { return true }
        let source = sources[SourceID(pane.source)]
        // Drawn in advance for a source that seems to be stalling.
        if let last = source?.lastPicture, source?.hasEnded == false { return now - last > pane.timeToCard / 2 }
        guard !isConnecting(pane, now: now) else { return false }
        return source?.fedVideo == nil || source?.hasEnded == true || since.map { now - $0 > Patience.card } ?? true
    }

    /// Returns the time without a picture after which a source gives way to its fallback.
    func cardAfter(_ id: SourceID) -> MediaTime {
        let pane = player?.scene.panes.first { $0.source == id.rawValue }
        return pane?.timeToCard ?? .milliseconds(Pane.usualCardAfter)
    }

    /// Returns whether the mix has just begun and the pane's source may still deliver its first picture.
    private func isConnecting(_ pane: Pane, now: MediaTime) -> Bool {
        guard pane.isLive, sources[SourceID(pane.source)]?.hasEnded != true else { return false }
        return started.map { now - $0 < Patience.firstCard } ?? true
    }

    private func fallbackGraphics(of pane: Pane, now: MediaTime) -> [Graphic] {
        switch pane.fallback {
        case .card: return [card(of: pane, now: now)]
        case .lastFrame: return hasPicture(SourceID(pane.source)) ? [] : lastResort(of: pane, now: now)
        case .image(let file): return shelf.hasFailed(.image(file)) ? lastResort(of: pane, now: now) : [.image(file)]
        case .nothing: return []
        }
    }

    /// Returns the card, or nothing for a pane with a matte, which is shown instead.
    private func lastResort(of pane: Pane, now: MediaTime) -> [Graphic] {
        pane.matte == nil ? [card(of: pane, now: now)] : []
    }

    private func card(of pane: Pane, now: MediaTime) -> Graphic {
        Graphic(cardOf: pane, isReconnecting: isReconnecting(pane, now: now))
    }

    /// Returns whether the pane's source has delivered pictures and delivers nothing now. A participant who is still heard is
    /// connected.
    private func isReconnecting(_ pane: Pane, now: MediaTime) -> Bool {
        let id = SourceID(pane.source)
        guard pane.isLive, hasPicture(id), let source = sources[id] else { return false }
        if source.hasEnded { return true }
        // A source that a scene shows again has no picture either until its next keyframe.
        let hasStalled = source.isStalled || source.lastPicture.map { now - $0 > pane.timeToCard / 2 } ?? false
        return hasStalled && source.lastSound.map { now - $0 > Patience.silence } ?? true
    }

    private func hasPicture(_ id: SourceID) -> Bool {
        sources[id].map { $0.lastShown != nil || $0.lastPicture != nil } ?? false
    }
}

// MARK: - Composition of a frame
extension MixState {
    mutating func compose(
        _ scene: Scene, tick: Int64, chosen: [SourceID: SourcePicture], now: MediaTime, clock: Int
    ) -> Composition {
        let isMoving = player?.isMoving(at: tick) ?? false
        let target = player?.scene ?? scene
        let targets = Dictionary(target.panes.map { ($0.source, $0) }, uniquingKeysWith: { first, _ in first })
        let previous = drawn
        drawn = [:]
        var panes: [PaneContent] = []
        panes.reserveCapacity(scene.panes.count)
        for pane in scene.panes {
            let end = isMoving ? targets[pane.source] : pane
            var shown = pane
            if let ring = pane.speaking, speakers.speaking.contains(SourceID(pane.source)) { shown.border = ring }
            let content = content(
                of: &shown, end: end, chosen: chosen[SourceID(pane.source)], previous: previous[pane.source]?.card,
                tick: tick, now: now)
            panes.append(PaneContent(pane: shown, content: content, label: label(of: pane, end: end, tick: tick)))
        }
        let layers = scene.overlays.compactMap { layer(of: $0, tick: tick, clock: clock) }
        let backdrop = scene.background.flatMap { shelf.still(.backdrop($0), tick: tick)?.picture }
        return Composition(background: scene.canvas.background, backdrop: backdrop, panes: panes, layers: layers)
    }

    /// Chooses the content of one pane.
    /// - Parameters:
    ///   - pane: The pane as it is drawn. A card fills it, regardless of its fit.
    ///   - end: The source's pane in the scene that the transition leads to; `nil` if the source leaves.
    ///   - previous: The card in the frame before, which stays until a card with another text is drawn.
    private mutating func content(
        of pane: inout Pane, end: Pane?, chosen: SourcePicture?, previous: Graphic?, tick: Int64, now: MediaTime
    ) -> PaneContent.Content {
        let id = SourceID(pane.source)
        // A leaving source keeps its last pictures until it is gone from the canvas.
        if end != nil, sources[id]?.hasEnded == true { sources[id]?.isStalled = true }
        let isStalled = sources[id]?.isStalled ?? true
        if pane.isLive { sources[id]?.lastSeen = now }
        if pane.isLive, !isStalled, let chosen {
            sources[id]?.lastShown = chosen
            // The card is ordered before the source counts as stalled.
            if needsFallback(pane, now: now, waitingSince: nil) {
                order(fallbackGraphics(of: end ?? pane, now: now), tick)
            }
            return .picture(chosen)
        }
        let last = (sources[id]?.lastShown ?? (pane.isLive ? chosen : nil)).map { PaneContent.Content.picture($0) }
        switch pane.fallback {
        case .nothing:
            return .nothing
        case _ where last == nil && isConnecting(pane, now: now):
            return pane.matte == nil ? .colour(pane.card.ground) : .nothing
        case .lastFrame where last == nil && pane.matte != nil:
            return .nothing
        case .lastFrame:
            return last ?? card(of: &pane, end: end, previous: previous, tick: tick, now: now)
                ?? .colour(pane.card.ground)
        case .image(let file):
            if let image = shelf.still(.image(file), tick: tick)?.picture {
                return .picture(SourcePicture(frame: image, colour: nil))
            }
            guard shelf.hasFailed(.image(file)), pane.matte == nil else {
                return last ?? (pane.matte == nil ? .colour(pane.card.ground) : .nothing)
            }
            return card(of: &pane, end: end, previous: previous, tick: tick, now: now) ?? last
                ?? .colour(pane.card.ground)
        case .card:
            return card(of: &pane, end: end, previous: previous, tick: tick, now: now) ?? last
                ?? .colour(pane.card.ground)
        }
    }

    /// Returns the card in its final size. It is scaled until then.
    private mutating func card(
        of pane: inout Pane, end: Pane?, previous: Graphic?, tick: Int64, now: MediaTime
    ) -> PaneContent.Content? {
        let before = drawnBefore[pane.source]?.card
        let wanted = end.map { card(of: $0, now: now) } ?? before ?? card(of: pane, now: now)
        for graphic in [wanted, before, previous].compactMap({ $0 }) {
            guard let picture = shelf.still(graphic, tick: tick)?.picture else { continue }
            drawn[pane.source, default: PaneGraphics()].card = graphic
            pane.fit = .cover
            return .picture(SourcePicture(frame: picture, colour: nil))
        }
        return nil
    }

    /// Returns the label. While the pane's width changes, this is the wider of the labels before and after, so that it
    /// is at least as wide as the pane.
    private mutating func label(of pane: Pane, end: Pane?, tick: Int64) -> AlphaPicture? {
        guard pane.label != nil else { return nil }
        let before = drawnBefore[pane.source]?.label
        let after = (end ?? (before == nil ? pane : nil)).flatMap { Graphic(labelOf: $0) }
        let candidates: [Graphic?]
        if case (.label(let old, let oldWidth)?, .label(let new, let newWidth)?) = (before, after), old == new,
            oldWidth > newWidth, pane.width > newWidth
        {
            candidates = [before, after]
        } else {
            candidates = [after, before]
        }
        for graphic in candidates.compactMap({ $0 }) {
            guard let layer = shelf.still(graphic, tick: tick)?.layer else { continue }
            drawn[pane.source, default: PaneGraphics()].label = graphic
            return layer
        }
        return nil
    }

    /// Returns the layer of an overlay. A clock shows the previous second until the new one, ordered a second ago, is
    /// drawn.
    private mutating func layer(of overlay: Overlay, tick: Int64, clock: Int) -> Composition.Layer? {
        guard let graphic = Graphic(overlay, time: clock) else { return nil }
        let content = overlay.content
        if let next = content.next(after: clock), let ahead = Graphic(overlay, time: next) { order([ahead], tick) }
        let now = shelf.still(graphic, tick: tick)
        let before = now == nil && content.showsTime ? Graphic(overlay, time: clock - 1) : nil
        guard let picture = (now ?? before.flatMap { shelf.still($0, tick: tick) })?.layer else { return nil }
        var layer = Composition.Layer(
            picture: picture, x: overlay.x, y: overlay.y, z: overlay.level, opacity: overlay.opacity)
        if case .image(_, let align) = overlay.content {
            layer.x += PanePlacement.offset(max(overlay.width - picture.width, 0), align.column)
            layer.y += PanePlacement.offset(max(overlay.height - picture.height, 0), align.row)
        }
        return layer
    }

    private mutating func order(_ graphics: [Graphic], _ tick: Int64) {
        for graphic in graphics { _ = shelf.still(graphic, tick: tick) }
    }
}

extension Pane {
    fileprivate var timeToCard: MediaTime { .milliseconds(cardAfter ?? Pane.usualCardAfter) }
}
