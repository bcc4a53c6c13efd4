extension Scene {
    /// The scene as a picture for people: everything as the mixer draws it, and instead of cameras a rectangle in the
    /// colour of the user with name, size and fit.
    ///
    /// Well-formed XML whatever people and images are called; the same scene gives the same text. It names nothing outside
    /// of itself.
    ///
    /// - Parameters:
    ///   - images: `data:image/…` URIs of the images that the scene names; others are drawn as a striped placeholder.
    ///   - time: What clocks show, in seconds since 1970.
    public func svg(images: [String: String] = [:], time: Int = Scene.previewTime) -> String {
        SVG.document(
            width: SVG.side(canvas.width), height: SVG.side(canvas.height),
            ScenePreview.definitions + "\n" + ScenePreview(scene: self, images: images, time: time).drawing + "\n")
            + "\n"
    }

    /// 2025-01-01T12:34:56Z: previews of the same scene are the same.
    public static let previewTime = 1_735_734_896
}
