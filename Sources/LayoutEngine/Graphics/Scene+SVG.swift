extension Scene {
    /// Returns the scene as a picture for display: everything as the mixer draws it, but for each camera a rectangle in
    /// the user's colour with name, size and fit.
    ///
    /// The result is well-formed XML for any names of people and images, and the same scene gives the same text. It has
    /// no external references.
    ///
    /// - Parameters:
    ///   - images: `data:image/…` URIs of the images that the scene names; others are drawn as a striped placeholder.
    ///   - time: The time that clocks show, in seconds since 1970.
    public func svg(images: [String: String] = [:], time: Int = Scene.previewTime) -> String {
        SVG.document(
            width: SVG.side(canvas.width), height: SVG.side(canvas.height),
            ScenePreview.definitions + "\n" + ScenePreview(scene: self, images: images, time: time).drawing + "\n")
            + "\n"
    }

    /// The time that clocks show in previews, 2025-01-01T12:34:56Z. It is fixed so that previews of the same scene are
    /// the same.
    public static let previewTime = 1_735_734_896
}
