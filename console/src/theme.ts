/** The theme this device chose, before anything is drawn. A classic script: a module would run after the first paint. */
const chosen = localStorage.getItem('cairn.theme')
if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset['theme'] = chosen
