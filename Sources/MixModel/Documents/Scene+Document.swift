import LayoutEngine

extension Scene: DocumentWritable {
    public func write(to document: inout DocumentWriter) throws {
        try document.object { scene in
            try scene.field("canvas", canvas)
            try scene.field("background", encoding: background)
            try scene.field("panes", panes)
            try scene.field("overlays", encoding: overlays)
            try scene.field("sound", sound)
            try scene.field("transition", transition)
        }
    }
}

extension Canvas: DocumentWritable {
    public func write(to document: inout DocumentWriter) {
        document.object { canvas in
            canvas.field("width", width)
            canvas.field("height", height)
            canvas.field("fps", fps)
            canvas.field("background", background.description)
        }
    }
}

extension Pane: DocumentWritable {
    public func write(to document: inout DocumentWriter) throws {
        try document.object { pane in
            pane.field("source", source)
            pane.field("user", user)
            pane.field("x", x)
            pane.field("y", y)
            pane.field("width", width)
            pane.field("height", height)
            pane.field("z", z)
            pane.field("fit", fit.rawValue)
            pane.field("align", align.rawValue)
            try pane.field("opacity", opacity.value)
            try pane.field("border", encoding: border)
            try pane.field("label", ifPresent: label)
            pane.field("isLive", isLive)
            try pane.field("fallback", fallback)
            pane.field("cardAfter", ifPresent: cardAfter)
            pane.field("dropAfter", ifPresent: dropAfter)
            pane.field("reconnecting", ifPresent: reconnecting)
            try pane.field("card", card)
            pane.field("matte", ifPresent: matte?.description)
            pane.field("radius", ifPresent: radius)
            try pane.field("shadow", encoding: shadow)
            try pane.field("speaking", encoding: speaking)
            try pane.field("surround", encoding: surround)
        }
    }
}

extension Label: DocumentWritable {
    public func write(to document: inout DocumentWriter) throws {
        try document.object { label in
            label.field("text", text)
            label.field("edge", edge.rawValue)
            label.field("side", side.rawValue)
            label.field("size", size)
            label.field("colour", colour.description)
            label.field("background", background.description)
            try label.field("backgroundOpacity", backgroundOpacity.value)
            label.field("style", ifPresent: style?.rawValue)
            label.field("isMuted", ifPresent: isMuted)
            try label.field("font", encoding: font)
        }
    }
}

extension Pane.Fallback: DocumentWritable {
    public func write(to document: inout DocumentWriter) {
        document.object { fallback in
            switch self {
            case .lastFrame: fallback.values(of: "lastFrame")
            case .image(let name): fallback.values(of: "image") { $0.field("_0", name) }
            case .card: fallback.values(of: "card")
            case .nothing: fallback.values(of: "nothing")
            }
        }
    }
}

extension Card: DocumentWritable {
    public func write(to document: inout DocumentWriter) {
        document.object { card in
            card.field("name", name)
            card.field("initials", initials)
            card.field("colour", colour.description)
            card.field("style", ifPresent: style?.rawValue)
        }
    }
}

extension SceneSound: DocumentWritable {
    public func write(to document: inout DocumentWriter) throws {
        try document.object { sound in
            try sound.field("levels", levels)
            sound.field("loudest", ifPresent: loudest)
        }
    }
}

extension SceneSound.Level: DocumentWritable {
    public func write(to document: inout DocumentWriter) {
        document.object { level in
            level.field("source", source)
            level.field("gain", gain)
        }
    }
}

extension Transition: DocumentWritable {
    public func write(to document: inout DocumentWriter) {
        document.object { transition in
            transition.field("duration", duration)
            transition.field("easing", easing.rawValue)
        }
    }
}
