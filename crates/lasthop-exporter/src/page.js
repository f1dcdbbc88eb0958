// Takes the page's contents anew every five seconds, and says so when they are old.
"use strict";
const EVERY_MS = 5000;

function age() {
	const at = document.getElementById("at");
	const seconds = Math.max(0, Math.round(Date.now() / 1000 - Number(at.dataset.at)));
	at.textContent = seconds < 2 ? "now" : `${seconds} s ago`;
}

function unfold(from, to) {
	for (const device of to.querySelectorAll("section.device")) {
		const before = [...from.querySelectorAll("section.device")].find(
			(other) => other.dataset.device === device.dataset.device);
		if (before?.querySelector("details")?.open && device.querySelector("details"))
			device.querySelector("details").open = true;
	}
}

async function renew() {
	const stale = document.getElementById("stale");
	try {
		const answer = await fetch("part", { cache: "no-store", signal: AbortSignal.timeout(2 * EVERY_MS) });
		if (!answer.ok)
			throw new Error(`status ${answer.status}`);
		const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
		const main = document.querySelector("main");
		const next = document.importNode(fresh.querySelector("main"), true);
		unfold(main, next);
		main.replaceWith(next);
		document.getElementById("at").dataset.at = fresh.getElementById("at").dataset.at;
		stale.textContent = "";
	} catch (error) {
		stale.textContent = ` – the exporter does not answer (${error.message}): these figures are old`;
	}
	age();
	setTimeout(renew, EVERY_MS);
}

age();
setInterval(age, 1000);
setTimeout(renew, EVERY_MS);
