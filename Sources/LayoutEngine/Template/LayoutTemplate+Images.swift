extension LayoutTemplate {
    /// All images named by the template: URLs, and paths relative to the layouts directory.
    public var images: Set<String> {
        var images: Set<String> = []
        var copy = self
        copy.replaceImages { image in
            images.insert(image)
            return image
        }
        return images
    }

    /// Returns the template with other references for its images, such as the paths of checked local files.
    ///
    /// - Parameter resolve: Returns the new reference, or `nil` for an image that cannot be shown. A fallback then
    ///   becomes the card; a background or an overlay is left out. Called at least once for each of `images`.
    public func resolvingImages(_ resolve: (String) -> String?) -> LayoutTemplate {
        var template = self
        template.replaceImages(resolve)
        return template
    }

    /// Returns the template with the paths of its pages' pictures.
    ///
    /// - Parameter picture: Returns the beginning of the path of a page's pictures; `nil` if pages are not shown.
    public func resolvingPages(_ picture: (PageAddress) -> String?) -> LayoutTemplate {
        var template = self
        template.settings.replacePages(picture)
        for index in arrangements.indices { template.arrangements[index].settings.replacePages(picture) }
        return template
    }

    /// Whether any overlay is a web page.
    public var hasPages: Bool { settings.hasPages || arrangements.contains { $0.settings.hasPages } }

    private mutating func replaceImages(_ resolve: (String) -> String?) {
        if let backdrop = canvas.backdrop {
            canvas.backdrop = resolve(backdrop.image).map { image in
                var backdrop = backdrop
                backdrop.image = image
                return backdrop
            }
        }
        settings.replaceImages(resolve)
        for index in arrangements.indices {
            arrangements[index].settings.replaceImages(resolve)
            guard case .panes(var panes, var rest) = arrangements[index].placement else { continue }
            for index in panes.indices { panes[index].style?.fallback.replaceImages(resolve) }
            rest?.settings.style.fallback.replaceImages(resolve)
            arrangements[index].placement = .panes(panes, rest: rest)
        }
    }
}

extension ArrangementSettings {
    fileprivate var hasPages: Bool { overlays.contains { if case .page = $0.content { true } else { false } } }

    fileprivate mutating func replacePages(_ picture: (PageAddress) -> String?) {
        for index in overlays.indices {
            guard case .page(let address, _) = overlays[index].content else { continue }
            overlays[index].content = .page(address, picture: picture(address))
        }
    }

    fileprivate mutating func replaceImages(_ resolve: (String) -> String?) {
        style.fallback.replaceImages(resolve)
        overlays = overlays.compactMap { overlay -> OverlayTemplate? in
            guard case .image(let image, let align, let size) = overlay.content else { return overlay }
            guard let resolved = resolve(image) else { return nil }
            var overlay = overlay
            overlay.content = .image(resolved, align: align, size: size)
            return overlay
        }
    }
}

extension PaneStyle.Fallbacks {
    fileprivate mutating func replaceImages(_ resolve: (String) -> String?) {
        cameraOff.replaceImage(resolve)
        absent.replaceImage(resolve)
        stalled.replaceImage(resolve)
    }
}

extension Pane.Fallback {
    fileprivate mutating func replaceImage(_ resolve: (String) -> String?) {
        guard case .image(let image) = self else { return }
        self = resolve(image).map { .image($0) } ?? .card
    }
}
