/// Draws a scene without its streams.
struct ScenePreview {
    var scene: Scene
    var images: [String: String]
    var time: Int

    /// Definitions to which the drawings refer. A document needs them only once.
    static let definitions = """
        <defs>\
        <linearGradient id="light" x2="0" y2="1"><stop stop-color="#FFFFFF" stop-opacity="0.16"/>\
        <stop offset="1" stop-color="#000000" stop-opacity="0.28"/></linearGradient>\
        <pattern id="stripes" width="24" height="24" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">\
        <rect width="24" height="24" fill="#3A414B"/><rect width="12" height="24" fill="#454D58"/></pattern>\
        </defs>
        """

    /// The drawing, with one line for the background, each pane and each overlay.
    var drawing: String {
        let (width, height) = (SVG.side(scene.canvas.width), SVG.side(scene.canvas.height))
        var lines = [SVG.rectangle(width: width, height: height, fill: "\(scene.canvas.background)")]
        if let backdrop = scene.background { lines.append(self.backdrop(backdrop, width, height)) }
        // Shadows of panes side by side are below all of these panes.
        let floating = scene.panes.indices.map { scene.panes.liesOverAnother($0) }
        let speaker = scene.panes.firstIndex { $0.isLive && $0.speaking != nil }
        lines += scene.panes.indices.filter { !floating[$0] }.compactMap { shadow(of: scene.panes[$0]) }
        var floor = Int.min
        for (index, pane) in scene.panes.enumerated() {
            lines += overlays(from: floor, below: pane.z)
            floor = max(floor, pane.z)
            if floating[index], let shadow = shadow(of: pane) { lines.append(shadow) }
            lines.append(self.pane(pane, isSpeaking: index == speaker))
        }
        lines += overlays(from: floor, below: .max)
        return lines.joined(separator: "\n")
    }

    private func backdrop(_ backdrop: Scene.Backdrop, _ width: Int, _ height: Int) -> String {
        var parts: [String] = []
        if let gradient = backdrop.gradient?.definition(width: width, height: height) {
            parts += [gradient.definition, SVG.rectangle(width: width, height: height, fill: gradient.fill)]
        }
        guard !backdrop.image.isEmpty else { return parts.joined() }
        let whole = Rectangle(x: 0, y: 0, width: width, height: height)
        var picture = image(backdrop.image, backdrop.fit, .centre, whole)
        if let blur = backdrop.blur, blur > 0 {
            parts.append(Self.filter(blur))
            picture = "<g filter=\"url(#blur\(blur))\">\(picture)</g>"
        }
        parts.append(picture)
        if let dim = backdrop.dim {
            parts.append(SVG.rectangle(width: width, height: height, fill: "#000000", opacity: dim))
        }
        return parts.joined()
    }

    private static func filter(_ blur: Int) -> String {
        """
        <filter id="blur\(blur)" x="-50%" y="-50%" width="200%" height="200%">\
        <feGaussianBlur stdDeviation="\(SVG.decimal(tenths: blur * 5))"/></filter>
        """
    }

    private func shadow(of pane: Pane) -> String? {
        guard let shadow = pane.shadow, pane.isLive || pane.fallback != .nothing || pane.matte != nil else {
            return nil
        }
        let shape = SVG.rectangle(
            x: pane.x, y: pane.y + shadow.offset, width: SVG.side(pane.width), height: SVG.side(pane.height),
            radius: pane.radius ?? 0, fill: "\(shadow.colour)", opacity: shadow.opacity)
        let soft = "\(Self.filter(shadow.blur))<g filter=\"url(#blur\(shadow.blur))\">\(shape)</g>"
        return pane.opacity == .whole ? soft : "<g\(SVG.attribute("opacity", pane.opacity))>\(soft)</g>"
    }

    private func pane(_ pane: Pane, isSpeaking: Bool) -> String {
        let (width, height) = (SVG.side(pane.width), SVG.side(pane.height))
        let whole = Rectangle(x: 0, y: 0, width: width, height: height)
        var parts = pane.matte.map { [SVG.rectangle(width: width, height: height, fill: "\($0)")] } ?? []
        if pane.isLive {
            parts.append(camera(pane, width, height))
        } else {
            switch pane.fallback {
            // A preview has no last picture, like a stream that never had one.
            case .card, .lastFrame: parts.append(pane.card.drawing(width: width, height: height))
            case .image(let name): parts.append(image(name, pane.fit, pane.align, whole))
            case .nothing: guard pane.matte != nil else { return "" }
            }
        }
        let radius = min(max(pane.radius ?? 0, 0), min(width, height) / 2)
        if let border = isSpeaking ? pane.speaking : pane.border {
            let line = min(max(border.width, 1), min(width, height))
            let bend = max(radius * 10 - line * 5, 0)
            parts.append(
                """
                <rect x="\(SVG.decimal(tenths: line * 5))" y="\(SVG.decimal(tenths: line * 5))" \
                width="\(width - line)" height="\(height - line)"\(bend > 0 ? " rx=\"\(SVG.decimal(tenths: bend))\"" : "") \
                fill="none" stroke="\(border.colour)" stroke-width="\(line)"/>
                """)
        }
        if let label = pane.label { parts.append(self.label(label, width, height)) }
        var body = parts.joined()
        if radius > 0 {
            let id = "r\(radius)-\(width)x\(height)"
            body = """
                <clipPath id="\(id)"><rect width="\(width)" height="\(height)" rx="\(radius)"/></clipPath>\
                <g clip-path="url(#\(id))">\(body)</g>
                """
        }
        return placed(Rectangle(x: pane.x, y: pane.y, width: width, height: height), pane.opacity, body)
    }

    private func label(_ label: Label, _ width: Int, _ height: Int) -> String {
        let own = label.width(in: width)
        let free = width - own - label.inset * 2
        let x =
            switch label.side {
            case .left: 0
            case .centre: free / 2
            case .right: free
            }
        return SVG.nested(
            x: x + label.inset, y: label.edge == .top ? label.inset : height - label.height - label.inset, width: own,
            height: label.height, viewWidth: own, viewHeight: label.height, label.drawing(width: own))
    }

    /// Draws the picture of a camera: a silhouette behind the name.
    private func camera(_ pane: Pane, _ width: Int, _ height: Int) -> String {
        let shorter = min(width, height)
        let size = max(shorter / 9, 1)
        let lines = TextLines(size: size, width: width - size)
        let name = pane.card.name.isEmpty ? pane.user : pane.card.name
        let details = TextLines(size: max(size * 2 / 3, 1), width: width - size)
        let (middle, radius) = (width * 5, shorter * 19 / 10)
        return SVG.rectangle(width: width, height: height, fill: "\(pane.card.colour)")
            + SVG.rectangle(width: width, height: height, fill: "url(#light)")
                + """
                <g fill="#FFFFFF" fill-opacity="0.13">\
                <circle cx="\(SVG.decimal(tenths: middle))" cy="\(SVG.decimal(tenths: height * 10 - radius * 31 / 10))" \
                r="\(SVG.decimal(tenths: radius))"/>\
                <ellipse cx="\(SVG.decimal(tenths: middle))" cy="\(SVG.decimal(tenths: height * 10))" \
                rx="\(SVG.decimal(tenths: radius * 2))" ry="\(SVG.decimal(tenths: radius * 19 / 10))"/></g>
                """
            + SVG.text(
                lines.shortened(name), x: middle, baseline: height * 5, size: size, fill: .white, isBold: true)
            + SVG.text(
                details.shortened("\(pane.width)×\(pane.height) \(pane.fit.rawValue)"), x: middle,
                baseline: height * 5 + size * 10, size: details.size, fill: .white, opacity: UnitFraction(0.8))
    }

    private func overlays(from floor: Int, below limit: Int) -> [String] {
        scene.overlays.filter { floor <= $0.level && $0.level < limit }.map(overlay)
    }

    private func overlay(_ overlay: Overlay) -> String {
        let (width, height) = (SVG.side(overlay.width), SVG.side(overlay.height))
        let body =
            switch overlay.content {
            case .image(let name, let align):
                image(name, .contain, align, Rectangle(x: 0, y: 0, width: width, height: height))
            case .page(let address, _):
                image(address.shown, .contain, .centre, Rectangle(x: 0, y: 0, width: width, height: height))
            case .text, .clock: overlay.drawing(time: time) ?? ""
            }
        return placed(Rectangle(x: overlay.x, y: overlay.y, width: width, height: height), overlay.opacity, body)
    }

    private func placed(_ rectangle: Rectangle, _ opacity: UnitFraction, _ body: String) -> String {
        let picture = SVG.nested(
            x: rectangle.x, y: rectangle.y, width: rectangle.width, height: rectangle.height,
            viewWidth: rectangle.width, viewHeight: rectangle.height, body)
        return opacity == .whole ? picture : "<g\(SVG.attribute("opacity", opacity))>\(picture)</g>"
    }

    /// Draws the image if the caller supplied it, otherwise stripes with its name.
    private func image(
        _ name: String, _ fit: Pane.Fit, _ align: Pane.Alignment, _ place: Rectangle
    ) -> String {
        if let data = images[name], data.hasPrefix("data:image/") {
            let columns = ["xMin", "xMid", "xMax"]
            let rows = ["YMin", "YMid", "YMax"]
            let ratio =
                switch fit {
                case .stretch: "none"
                case .cover: columns[align.column] + rows[align.row] + " slice"
                case .contain: columns[align.column] + rows[align.row]
                }
            return """
                <image width="\(place.width)" height="\(place.height)" preserveAspectRatio="\(ratio)" \
                href="\(SVG.escaped(data))"/>
                """
        }
        let size = max(min(place.width / 10, place.height / 4), 1)
        let file = name.split(separator: "/").last.map(String.init) ?? name
        let text = TextLines(size: size, width: place.width - size).shortened(file)
        return SVG.rectangle(width: place.width, height: place.height, fill: "url(#stripes)")
            + SVG.text(
                text, x: place.width * 5, baseline: place.height * 5 + size * 36 / 10, size: size, fill: .white,
                opacity: UnitFraction(0.8))
    }
}
