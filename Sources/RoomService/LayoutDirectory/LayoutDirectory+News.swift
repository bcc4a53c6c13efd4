import MixModel
import TaskStore

/// Notifications to rooms, operators and the store.
extension LayoutDirectory {
    func tell(_ outcome: LayoutCatalogue.Outcome, of name: String, noticedAt: Int64) async {
        guard let result = outcome.metric else { return }
        metrics.count(.layoutReloads, name, result)
        switch outcome {
        case .nothing:
            break
        case .changed:
            await wantImages()
            await registry.layoutChanged(name, cause: Cause(receivedAt: noticedAt, summary: "layout \(name) changed"))
            logger.info("\(outcome.message(of: name))")
        case .restored:
            logger.info("\(outcome.message(of: name))")
        case .rejected(let problem, let kept):
            let stays = kept.map { "version \($0.version.number) stays on air" } ?? "rooms that name it use \"auto\""
            logger.error("layout \(name) is not used, \(stays):\n\(problem)")
        case .deleted:
            logger.warning("\(outcome.message(of: name))")
        }
        if outcome.isTrouble {
            await registry.note(
                TimelineEntry(kind: .event, message: outcome.message(of: name), cause: "layout \(name)"),
                ofLayout: name)
        }
    }

    func commit(_ outcome: LayoutCatalogue.Outcome, of name: String) async throws(StoreError) {
        guard let kind = outcome.eventKind else { return }
        let event = LayoutEvent(
            layout: name, at: wallClock(), kind: kind, version: outcome.versionInUse, message: outcome.message(of: name)
        )
        var change = StoreChange(layoutEvent: event)
        if case .changed(let good) = outcome {
            change.layoutVersion = NewLayoutVersion(
                layout: name, number: good.version.number, at: good.version.at, origin: good.version.origin,
                content: good.content)
        }
        _ = try await store.commit(change)
    }

    func commitOrLog(_ outcome: LayoutCatalogue.Outcome, of name: String) async {
        do {
            try await commit(outcome, of: name)
        } catch {
            if isShared, case .changed = outcome {
                unstored.insert(name)
                // Another node has just stored a version of the same number.
                if case .conflict = error { return await takeShared(name) }
            }
            logger.error("layout \(name): the event cannot be stored: \(error)")
        }
    }

    /// Requests the images that layouts and programs currently name.
    func wantImages() async {
        let named: Set<String> = layouts.catalogue.templates.reduce(into: []) { $0.formUnion($1.images) }
        layouts.keepFailures(only: named)
        await images.want(named, ofPrograms: registry.services.needs.images)
        layouts.setImages(await images.paths)
    }

    /// Checks images that are files and must be shown at once.
    ///
    /// - Returns: The reasons why some images cannot be used, by reference. URLs are fetched once they are in use.
    package func prepareImages(_ references: Set<String>) async -> [String: String] {
        guard !references.isEmpty else { return [:] }
        let reasons = await images.prepare(references)
        layouts.setImages(await images.paths)
        return reasons
    }

    func take(_ news: ImageStore.News) async {
        layouts.setImages(await images.paths)
        let image = ImageStore.shown(news.reference)
        await tellPrograms(news, image)
        let users = layouts.catalogue.all.filter { $0.entry.good?.template.images.contains(news.reference) == true }
        switch news.kind {
        case .changed:
            layouts.imageIsShown(news.reference)
            for (name, _) in users {
                await registry.layoutChanged(
                    name,
                    cause: Cause(receivedAt: news.noticedAt, summary: "image \(image) of layout \(name) is available")
                )
            }
        case .failed(let reason):
            guard !users.isEmpty else { return }
            layouts.imageFailed(news.reference, "image \(image) \(reason)")
            await registry.imagesOfLayoutsFailed()
        }
    }

    private func tellPrograms(_ news: ImageStore.News, _ image: String) async {
        switch news.kind {
        case .changed:
            registry.services.needs.imageChanged(
                news.reference, cause: Cause(receivedAt: news.noticedAt, summary: "image \(image) is available"))
        case .failed(let reason):
            let entry = TimelineEntry(kind: .event, message: "image \(image) \(reason)", cause: "image \(image)")
            await registry.noteFailure(entry, ofImage: news.reference)
        }
    }
}
