extension Card {
    /// A line on the card of a stream that has stalled.
    public struct Notice: Hashable, Sendable {
        /// The line, such as "Reconnecting…".
        public var text: String
        /// Height that the pane's label covers at the top of the card, in pixels of the card.
        public var top: Int
        /// The same as `top`, for the bottom.
        public var bottom: Int

        public init(text: String, top: Int = 0, bottom: Int = 0) {
            self.text = text
            self.top = top
            self.bottom = bottom
        }

        /// Creates the notice of a pane whose stream has stalled; `nil` if the pane has none.
        ///
        /// - Parameter height: Height of the card in pixels, which may be drawn smaller than the pane.
        public init?(of pane: Pane, height: Int) {
            let text = pane.reconnecting ?? Pane.usualReconnecting
            guard !text.isEmpty, !pane.user.isEmpty else { return nil }
            let (height, whole) = (SVG.side(height), SVG.side(pane.height))
            let covered = pane.label.map { (($0.height + $0.inset) * height + whole - 1) / whole } ?? 0
            let isTop = pane.label?.edge == .top
            self.init(text: text, top: isTop ? covered : 0, bottom: isTop ? 0 : covered)
        }

        /// Whether the pane has a label, which shows the name.
        fileprivate var isLabelled: Bool { top > 0 || bottom > 0 }
    }

    /// Smallest radius of a circle with legible initials, in tenths of a pixel.
    private static let smallestRadius = 140

    /// Returns the drawing of the card with a notice, in the space that the label leaves; `nil` if it does not fit.
    ///
    /// The notice is below the name, in smaller letters. In a pane with a label it takes the name's place.
    func drawing(width: Int, height: Int, _ notice: Notice) -> String? {
        let top = min(max(notice.top, 0), height)
        let room = height - top - min(max(notice.bottom, 0), height - top)
        // Wide enough for any text that `TextLines` keeps.
        let text = TextLines(size: 1, width: SVG.side(.max)).shortened(notice.text)
        guard !text.isEmpty else { return nil }
        return Self.isBeside(width: width, height: height)
            ? beside(text, width: width, height: height, top: top, room: room, hasName: !notice.isLabelled)
            : below(text, width: width, height: height, top: top, room: room, hasName: !notice.isLabelled)
    }

    /// Draws the circle above the lines.
    private func below(_ text: String, width: Int, height: Int, top: Int, room: Int, hasName: Bool) -> String? {
        let nameSize = Self.letters(width: width, height: height)
        let name = hasName ? shortenedName(size: nameSize, width: width - nameSize) : nil
        guard let size = Self.size(of: text, most: name == nil ? nameSize : nameSize * 4 / 5, width: width) else {
            return nil
        }
        // All lengths are in tenths of a pixel. Letters reach 2 tenths of their size below their baseline.
        let gap = nameSize * 6
        let lines = (name == nil ? 0 : nameSize * 8 + size * 7) + size * 10
        let radius = min(min(width, height) * 9 / 4, (room * 10 - gap - lines - nameSize * 8) * 9 / 20)
        guard radius >= Self.smallestRadius else { return nil }
        let start = top * 10 + (room * 10 - radius * 2 - gap - lines) / 2
        let first = start + radius * 2 + gap
        let nameLine = name.map {
            SVG.text($0, x: width * 5, baseline: first + nameSize * 7, size: nameSize, fill: .white)
        }
        return background(width: width, height: height) + badge(x: width * 5, y: start + radius, radius: radius)
            + (nameLine ?? "")
            + SVG.text(text, x: width * 5, baseline: first + lines - size * 3, size: size, fill: .white)
    }

    /// Draws the circle beside the lines, in a wide and low card.
    private func beside(_ text: String, width: Int, height: Int, top: Int, room: Int, hasName: Bool) -> String? {
        let radius = room * 7 / 2
        let left = room * 21 / 2
        let nameSize = room * 3 / 10
        let space = width - left / 10
        let name = hasName ? shortenedName(size: nameSize, width: space - nameSize) : nil
        let most = name == nil ? nameSize : nameSize * 3 / 4
        guard radius >= Self.smallestRadius, let size = Self.size(of: text, most: most, width: space) else {
            return nil
        }
        let middle = top * 10 + room * 5
        let circle = background(width: width, height: height) + badge(x: room * 6, y: middle, radius: radius)
        guard let name else {
            return circle
                + SVG.text(
                    text, x: left, baseline: middle + size * 36 / 10, size: size, fill: .white, anchor: .start)
        }
        let start = middle - (nameSize + size) * 6
        return circle
            + SVG.text(name, x: left, baseline: start + nameSize * 9, size: nameSize, fill: .white, anchor: .start)
            + SVG.text(
                text, x: left, baseline: start + nameSize * 12 + size * 9, size: size, fill: .white, anchor: .start)
    }

    /// Returns the name as far as it fits; `nil` if nothing of it does.
    private func shortenedName(size: Int, width: Int) -> String? {
        let kept = TextLines(size: size, width: width).shortened(name)
        return kept.isEmpty || kept == "…" ? nil : kept
    }

    /// Returns the largest size, at most `most`, at which the text fits into the width with half a letter on each side;
    /// `nil` if it would not be legible. A notice is not cut: half a word says nothing.
    private static func size(of text: String, most: Int, width: Int) -> Int? {
        let size = min(max(most, smallest), max(width, 0) * 1000 / (LetterWidths.width(of: text) + 1000))
        return size >= smallest ? size : nil
    }
}
